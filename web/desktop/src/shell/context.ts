import { createContext, useContext, useEffect, useRef } from "react";
import { useStore } from "zustand";
import type { Listener, Page } from "./boot.js";
import type { Commands } from "./commands.js";
import type { HubClock } from "./hub-clock.js";
import type { Shell, ShellStore } from "./shell.js";

/** What every component may use. */
export interface Workbench {
  readonly store: ShellStore;
  readonly commands: Commands;
  readonly hubClock: HubClock;
}

export const WorkbenchContext = createContext<Workbench | undefined>(undefined);

export const PageContext = createContext<Page | undefined>(undefined);

function useWorkbench(): Workbench {
  const bench = useContext(WorkbenchContext);
  if (bench === undefined) throw new Error("outside of a workbench");
  return bench;
}

/** A part of the page's state. What is selected must be the same object while nothing changed. */
export function useShell<T>(select: (s: Shell) => T): T {
  return useStore(useWorkbench().store, select);
}

/** What can be done. */
export function useCommands(): Commands {
  return useWorkbench().commands;
}

/** What time it is for the hub. */
export function useHubClock(): HubClock {
  return useWorkbench().hubClock;
}

/** Hears every event of the session, after the mirror has taken it. Replayed ones happened while this tab was away. */
export function useEvents(hear: Listener): void {
  const page = useContext(PageContext);
  const latest = useRef(hear);
  latest.current = hear;
  useEffect(() => page?.listen((e, replayed) => latest.current(e, replayed)), [page]);
}
