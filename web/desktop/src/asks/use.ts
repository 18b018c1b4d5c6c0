import { useMemo } from "react";
import { useShell } from "../shell/context.js";
import { type Ask, asksOf } from "./order.js";

/** The open questions, the earliest deadline first. */
export function useAsks(): Ask[] {
  const dialogs = useShell((s) => s.desktop.dialogs);
  const prompts = useShell((s) => s.desktop.prompts);
  const requests = useShell((s) => s.desktop.requests);
  return useMemo(() => asksOf({ dialogs, prompts, requests }), [dialogs, prompts, requests]);
}
