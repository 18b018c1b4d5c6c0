import { createContext, useContext } from "react";
import { useStore } from "zustand";
import type { Board, Manager } from "./manager.js";

export const ManagerContext = createContext<Manager | undefined>(undefined);

export function useManager(): Manager {
  const manager = useContext(ManagerContext);
  if (manager === undefined) throw new Error("outside of a canvas");
  return manager;
}

/** A part of what the canvas knows beside the desktop. */
export function useBoard<T>(select: (b: Board) => T): T {
  return useStore(useManager().board, select);
}
