import { createContext, useContext, useEffect, useState } from "react";
import { useStore } from "zustand";
import type { Page, State } from "./store.js";

export const PageContext = createContext<Page | undefined>(undefined);

/** What can be done. */
export function useActions(): Page {
  const page = useContext(PageContext);
  if (page === undefined) throw new Error("outside of a page");
  return page;
}

/** A part of what the page knows. */
export function usePage<T>(select: (s: State) => T): T {
  return useStore(useActions().store, select);
}

/** What time it is for the hub, anew every second. */
export function useHubTime(): number {
  const ahead = usePage((s) => s.ahead);
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now + ahead;
}
