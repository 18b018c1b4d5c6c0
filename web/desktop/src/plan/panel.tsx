import { BellRing, Check, CircleSlash, ListTodo, LoaderCircle, X } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useId, useRef, useState } from "react";
import type { Layer, TodoID } from "../../../core/src/index.js";
import { escapeInvisible } from "../asks/invisible.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { plan as texts } from "../texts/plan.js";
import { Button, IconButton } from "../ui/button.js";
import { isComposing } from "../ui/keys.js";
import { Controls } from "./controls.js";
import { Details } from "./details.js";
import { etaOf } from "./eta.js";
import { countsOf, type Facts, isEnded, isUnderWay, type Phase, partDone, phaseOf, type StepState, stepsOf } from "./facts.js";
import { Graph } from "./graph.js";
import { Completed, Failed } from "./result.js";
import { Bar } from "./todo.js";
import { useFacts, useHubNow } from "./use.js";

const Source = lazy(() => import("./source.js"));

/** The plan of the session: its phase, todos, controls and result. */
export function Panel(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const facts = useFacts();
  const phase = phaseOf(facts);
  const heading = useId();
  const [chosen, setChosen] = useState<TodoID>();
  const { plan, todos } = facts;
  const todo = todos.find((d) => d.id === chosen);
  const close = (): void => commands.showPlan(false);
  return (
    <section
      className="plan-panel"
      aria-labelledby={heading}
      data-region="plan"
      data-phase={phase}
      tabIndex={-1}
      onKeyDown={(e) => {
        if (e.key !== "Escape" || isComposing(e)) return;
        e.stopPropagation();
        if (todo !== undefined) setChosen(undefined);
        else close();
      }}
    >
      <header className="plan-head">
        <ListTodo size={16} aria-hidden />
        <h2 id={heading}>
          {t.plan}
          {plan?.version !== undefined && plan.version > 1 && <small>{t.version(plan.version)}</small>}
        </h2>
        <PhaseText facts={facts} phase={phase} />
        <IconButton icon={X} label={t.close} onClick={close} />
      </header>
      <div className="plan-body">
        {phase === "none" ? (
          <div className="empty">
            <ListTodo size={28} aria-hidden />
            <p>{t.empty}</p>
            <small>{t.emptyHint}</small>
          </div>
        ) : (
          <>
            {!!plan?.request && (
              <p className="plan-request" tabIndex={0} role="group" aria-label={t.request}>
                {escapeInvisible(plan.request)}
              </p>
            )}
            <Steps facts={facts} />
            <NeedsYou facts={facts} />
            {plan?.complete !== undefined && <Completed complete={plan.complete} />}
            {plan?.failed !== undefined && <Failed failed={plan.failed} facts={facts} />}
            {todos.length > 0 && <Todos facts={facts} phase={phase} chosen={chosen} onChoose={(id) => setChosen(id === chosen ? undefined : id)} />}
            {todo !== undefined && <Details key={todo.id} todo={todo} facts={facts} onClose={() => setChosen(undefined)} />}
            {!!plan?.mermaid_diagram && <SourceDetails text={plan.mermaid_diagram} />}
          </>
        )}
      </div>
      <Controls key={plan?.id ?? ""} phase={phase} />
    </section>
  );
}

function PhaseText({ facts, phase }: { facts: Facts; phase: Phase }): ReactNode {
  const t = useTexts(texts);
  const { plan } = facts;
  const why = plan?.pause_reason || (plan?.paused_by === "interrupt" ? t.pausedInterrupt : "");
  return (
    <span className="plan-phase" data-plan-phase={phase} role="status">
      {phase === "paused" && why !== "" ? t.pausedBy(escapeInvisible(why)) : t[phase]}
    </span>
  );
}

const stepIcons = { done: Check, now: LoaderCircle, stopped: CircleSlash } as const;

function Steps({ facts }: { facts: Facts }): ReactNode {
  const t = useTexts(texts);
  const paused = phaseOf(facts) === "paused";
  const names: Record<Layer, string> = { cognitive: t.cognitive, planning: t.planningStep, execution: t.execution, response: t.response };
  const stateTexts: Record<StepState, string> = { done: t.stepDone, now: t.stepNow, later: t.stepLater, stopped: t.stepStopped };
  return (
    <ol className="plan-steps" aria-label={t.steps}>
      {stepsOf(facts).map(({ layer, state }, i) => {
        const Icon = state === "later" ? undefined : stepIcons[state];
        return (
          <li key={layer} data-step={layer} data-state={state} aria-current={state === "now" ? "step" : undefined}>
            <span className="plan-step-sign">{Icon === undefined ? i + 1 : <Icon size={12} aria-hidden className={state === "now" && !paused ? "plan-turning" : undefined} />}</span>
            {names[layer]}
            <span className="hidden-text">{stateTexts[state]}</span>
          </li>
        );
      })}
    </ol>
  );
}

/** The questions that the plan waits for. They are answered in the top layer, which no window can imitate. */
function NeedsYou({ facts }: { facts: Facts }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const first = facts.asks[0];
  if (first === undefined) return null;
  return (
    <p className="plan-needs">
      <BellRing size={16} aria-hidden />
      <span>{t.needsYou(facts.asks.length)}</span>
      <Button size="sm" kind="primary" onClick={() => commands.showAsk(`plan/${first.request_id}`)}>
        {t.answer}
      </Button>
    </p>
  );
}

interface TodosProps {
  facts: Facts;
  phase: Phase;
  chosen: TodoID | undefined;
  onChoose: (id: TodoID) => void;
}

function Todos({ facts, phase, chosen, onChoose }: TodosProps): ReactNode {
  const ticking = isUnderWay(phase) && phase !== "paused";
  const now = useHubNow(ticking);
  return (
    <>
      <Totals facts={facts} phase={phase} now={now} />
      <Graph todos={facts.todos} chosen={chosen} onChoose={onChoose} now={now} />
    </>
  );
}

function Totals({ facts, phase, now }: { facts: Facts; phase: Phase; now: number }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const { plan, todos } = facts;
  const c = countsOf(todos);
  const part = partDone(todos);
  const begun = phase !== "review" && phase !== "planning";
  const eta = begun && isUnderWay(phase) ? etaOf(todos, now) : undefined;
  const left = eta === undefined ? "" : (eta.reliable ? t.left : t.leftAbout)(format.elapsed(Math.ceil(eta.ms / 1000) * 1000));
  const parts = [
    begun ? t.progress(c.completed + c.skipped, c.total) : "",
    c.running > 0 ? t.runningCount(c.running) : "",
    c.failed > 0 ? t.failedCount(c.failed) : "",
    c.blocked > 0 ? t.blockedCount(c.blocked) : "",
    c.skipped > 0 ? t.skippedCount(c.skipped) : "",
    eta !== undefined && eta.ms > 0 ? left : "",
    !begun && plan?.estimated_duration_sec ? t.estimate(format.elapsed(plan.estimated_duration_sec * 1000)) : "",
    !isEnded(phase) && plan?.estimated_cost_usd ? t.cost(format.usd(plan.estimated_cost_usd)) : "",
  ];
  return (
    <div className="plan-totals">
      {begun && <Bar part={part} label={t.progress(c.completed + c.skipped, c.total)} />}
      <p>{parts.filter(Boolean).join(" · ")}</p>
    </div>
  );
}

function SourceDetails({ text }: { text: string }): ReactNode {
  const t = useTexts(texts);
  const [open, setOpen] = useState(false);
  return (
    <details className="plan-source" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{t.source}</summary>
      {open && (
        <Suspense fallback={<p>{t.loading}</p>}>
          <Source text={text} />
        </Suspense>
      )}
    </details>
  );
}

/** Shows a notice when a plan was changed. */
export function usePlanChangeNotice(): void {
  const t = useTexts(texts);
  const commands = useCommands();
  const { plan } = useFacts();
  const before = useRef(plan);
  useEffect(() => {
    const old = before.current;
    before.current = plan;
    if (plan?.id === undefined || old?.id !== plan.id) return;
    if ((old.version ?? 1) < (plan.version ?? 1)) commands.notify(t.changed(plan.version ?? 1), "info");
  }, [plan, commands, t]);
}
