import { createContext, useContext, useEffect, useState } from "react";
import { useStore } from "zustand";
import type { Page, State } from "./store.js";

export const PageContext = createContext<Page | undefined>(undefined);

/** The page with its actions. */
export function useActions(): Page {
  const page = useContext(PageContext);
  if (page === undefined) throw new Error("outside of a page");
  return page;
}

/** Selects a part of the page state. */
export function usePage<T>(select: (s: State) => T): T {
  return useStore(useActions().store, select);
}

/** The hub's time, updated every second. */
export function useHubTime(): number {
  const ahead = usePage((s) => s.clockOffset);
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now + ahead;
}
