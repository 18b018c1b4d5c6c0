import { useMemo, useState } from "react";
import { useEvents, useShell } from "../shell/context.js";
import { type Ask, asksOf, skewOf } from "./order.js";

/** Everything that is asked, the most urgent first. */
export function useAsks(): Ask[] {
  const dialogs = useShell((s) => s.desk.dialogs);
  const prompts = useShell((s) => s.desk.prompts);
  return useMemo(() => asksOf({ dialogs, prompts }), [dialogs, prompts]);
}

/** How far the clock of this browser is ahead of the hub's, as the newest event tells. */
export function useSkew(): number {
  const [skew, setSkew] = useState(0);
  useEvents((event, replayed) => {
    if (replayed) return;
    const now = skewOf(event, Date.now());
    // Only what makes a difference of a second on a clock is worth drawing.
    setSkew((before) => (Math.abs(now - before) < 1_000 ? before : now));
  });
  return skew;
}
