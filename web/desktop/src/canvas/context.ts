import { createContext, useContext } from "react";
import { useStore } from "zustand";
import type { CanvasState, WindowManager } from "./manager.js";

export const WindowManagerContext = createContext<WindowManager | undefined>(undefined);

export function useWindowManager(): WindowManager {
  const manager = useContext(WindowManagerContext);
  if (manager === undefined) throw new Error("outside of a canvas");
  return manager;
}

/** Selects a part of the canvas state. */
export function useCanvasState<T>(select: (b: CanvasState) => T): T {
  return useStore(useWindowManager().store, select);
}
