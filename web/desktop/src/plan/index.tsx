import "./plan.css";
import { type ReactNode, useEffect, useRef } from "react";
import { useCommands, useShell } from "../shell/context.js";
import { isUnderWay, phaseOf } from "./facts.js";
import { Panel, usePlanChangeNotice } from "./panel.js";
import { useFacts } from "./use.js";

export { PlanChip } from "./chip.js";

/** The plan panel, if it is open. It opens when a plan starts or needs a review. */
export function Plans(): ReactNode {
  const open = useShell((s) => s.planOpen);
  useAutoOpen();
  usePlanChangeNotice();
  return open ? <Panel /> : null;
}

/** Opens the panel for new plans. A plan from before the page was loaded opens it only if it needs a review. */
function useAutoOpen(): void {
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
