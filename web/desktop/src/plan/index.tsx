import "./plan.css";
import { type ReactNode, useEffect, useRef } from "react";
import { useCommands, useShell } from "../shell/context.js";
import { isUnderWay, phaseOf } from "./facts.js";
import { Panel, useChanges } from "./panel.js";
import { useFacts } from "./use.js";

export { PlanChip } from "./chip.js";

/** The plan, when it is looked at. It shows itself when one begins, and when one waits to be reviewed. */
export function Plans(): ReactNode {
  const open = useShell((s) => s.planOpen);
  useOpening();
  useChanges();
  return open ? <Panel /> : null;
}

/** Opens the panel for what is new. What was there when the page came is not, unless it waits for somebody. */
function useOpening(): void {
  const commands = useCommands();
  const ready = useShell((s) => s.ready);
  const facts = useFacts();
  const phase = phaseOf(facts);
  const underWay = isUnderWay(phase);
  const review = facts.asks.find((a) => a.type === "hitl_plan_review")?.request_id ?? "";
  const before = useRef<{ underWay: boolean; review: string }>(undefined);
  useEffect(() => {
    if (!ready) return;
    const old = before.current;
    before.current = { underWay, review };
    const begins = old !== undefined && underWay && !old.underWay;
    if (begins || (review !== "" && review !== old?.review)) commands.showPlan(true);
  }, [ready, underWay, review, commands]);
}
