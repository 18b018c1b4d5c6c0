import { BellRing, ListTodo } from "lucide-react";
import type { ReactNode } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { plan as texts } from "../texts/plan.js";
import { Ring } from "../ui/ring.js";
import { countsOf, isUnderWay, partDone, phaseOf } from "./facts.js";
import { useFacts } from "./use.js";

/** The progress of the plan, as a button that opens it. */
export function PlanChip(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const open = useShell((s) => s.planOpen);
  const facts = useFacts();
  const phase = phaseOf(facts);
  if (!isUnderWay(phase)) return null;
  const c = countsOf(facts.todos);
  const asks = facts.asks.length > 0;
  const counting = !asks && phase === "running" && c.total > 0;
  const done = t.progress(c.completed + c.skipped, c.total);
  const text = asks ? t.needsYou(facts.asks.length) : counting ? `${c.completed + c.skipped}/${c.total}` : t[phase];
  return (
    <button
      type="button"
      className={asks ? "plan-chip plan-chip-asks" : "plan-chip"}
      data-plan-chip={phase}
      aria-pressed={open}
      title={t.open}
      onClick={() => commands.showPlan(!open)}
    >
      <span className="hidden-text">{t.plan}</span>
      {asks ? <BellRing size={14} aria-hidden /> : counting ? <Ring part={partDone(facts.todos)} label={done} /> : <ListTodo size={14} aria-hidden />}
      <span>{text}</span>
    </button>
  );
}
