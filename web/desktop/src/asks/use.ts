import { useMemo } from "react";
import { useShell } from "../shell/context.js";
import { type Ask, asksOf } from "./order.js";

/** Everything that is asked, the most urgent first. */
export function useAsks(): Ask[] {
  const dialogs = useShell((s) => s.desk.dialogs);
  const prompts = useShell((s) => s.desk.prompts);
  const requests = useShell((s) => s.desk.requests);
  return useMemo(() => asksOf({ dialogs, prompts, requests }), [dialogs, prompts, requests]);
}
