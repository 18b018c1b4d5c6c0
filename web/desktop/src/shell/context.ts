import { createContext, useContext, useEffect, useRef } from "react";
import { useStore } from "zustand";
import type { Listener, Page } from "./boot.js";
import type { Commands } from "./commands.js";
import type { HubClock } from "./hub-clock.js";
import type { Shell, ShellStore } from "./shell.js";

/** The state and commands that every component may use. */
export interface ShellServices {
  readonly store: ShellStore;
  readonly commands: Commands;
  readonly hubClock: HubClock;
}

export const ShellContext = createContext<ShellServices | undefined>(undefined);

export const PageContext = createContext<Page | undefined>(undefined);

function useShellServices(): ShellServices {
  const bench = useContext(ShellContext);
  if (bench === undefined) throw new Error("outside of a workbench");
  return bench;
}

/** Selects a part of the page state. The selector must return the identical object while nothing changed. */
export function useShell<T>(select: (s: Shell) => T): T {
  return useStore(useShellServices().store, select);
}

/** The state of the page, for code that runs outside of a drawing. */
export function useShellStore(): ShellStore {
  return useShellServices().store;
}

/** The commands of the page. */
export function useCommands(): Commands {
  return useShellServices().commands;
}

/** The estimate of the hub's clock. */
export function useHubClock(): HubClock {
  return useShellServices().hubClock;
}

/** Subscribes to all events of the session, after they were applied to the state. Replayed events happened while this tab was disconnected. */
export function useEvents(hear: Listener): void {
  const page = useContext(PageContext);
  const latest = useRef(hear);
  latest.current = hear;
  useEffect(() => page?.listen((e, replayed) => latest.current(e, replayed)), [page]);
}
