import { CircleCheck, CircleX, ListTodo, RotateCw } from "lucide-react";
import { memo, type ReactNode, useEffect, useRef } from "react";
import { escapeInvisible } from "../asks/invisible.js";
import { Markdown } from "../content/index.js";
import { pathOf } from "../files/paths.js";
import { useFound } from "../history/conversation-state.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useControl } from "../plan/control.js";
import { actionsFor, type Facts } from "../plan/facts.js";
import { Things } from "../plan/things.js";
import { useFacts } from "../plan/use.js";
import { useCommands, useHubClock, useShell } from "../shell/context.js";
import { plan as texts } from "../texts/plan.js";
import { Button } from "../ui/button.js";
import { Collapsible } from "./collapsible.js";
import { CopyButton } from "./copy.js";
import { EntryRow } from "./entry-row.js";
import { isLong, LongText } from "./long-text.js";
import { type PlanEnd, samePlanEnd, splitOutcome } from "./plan-ends.js";
import { useReason } from "./reasons.js";

interface Props {
  plan: PlanEnd;
  /** Whether to name the monitors, because rows of several monitors are mixed. */
  named: boolean;
}

/** How long after its end the card of a plan is shown with the motion from the plan, in ms. */
const freshFor = 2000;

/** The end of a plan: the outcome, what was made, failed tasks, and the results of all tasks, collapsed. */
export const PlanEndRow = memo(
  function PlanEndRow({ plan: p, named }: Props): ReactNode {
    const t = useTexts(texts);
    const format = useFormat();
    const commands = useCommands();
    const inWords = useReason();
    const facts = useFacts();
    const session = useShell((s) => s.session);
    const found = useFound();
    const { row, monitorId } = p.end;
    const card = useRef<HTMLElement>(null);
    const hub = useHubClock();
    useEffect(() => {
      if (hub.now() - row.ts > freshFor) return;
      const from = (document.querySelector("[data-plan-chip]") ?? document.querySelector("[data-region=plan]"))?.getBoundingClientRect();
      void import("../canvas/arrival.js").then(({ showArrival }) => showArrival(from, card.current));
    }, [hub, row.ts]);
    const failed = p.end.kind === "error";
    // More is known of the newest plan: the hub keeps the state of one.
    const current = facts.plan?.messageId !== undefined && facts.plan.messageId === row.messageId;
    const response = current ? facts.plan?.complete?.response : undefined;
    const text = failed ? inWords(row.text ?? "") : (row.text ?? "");
    const { sentence, rest } = splitOutcome(text, response?.summary);
    const attached = (response?.attachments ?? []).flatMap((a) => pathOf(a.url, session) ?? []);
    const Icon = failed ? CircleX : CircleCheck;
    return (
      <article ref={card} className="drawer-row drawer-plan" data-row={p.ts} data-kind={failed ? "error" : "assistant"} data-plan-end={failed ? "failed" : "complete"}>
        <div className="drawer-row-head">
          <Icon size={14} aria-hidden className={failed ? "drawer-danger" : "drawer-success"} />
          <span className="drawer-row-name">{failed ? t.failedTitle : t.doneTitle}</span>
          <time className="drawer-time" dateTime={new Date(row.ts).toISOString()}>
            {format.time(row.ts)}
          </time>
          <CopyButton text={text} />
        </div>
        {sentence !== "" && <p className="drawer-plan-outcome">{escapeInvisible(sentence)}</p>}
        <Things windows={p.windows} files={[...new Set([...p.files, ...attached])]} monitor={monitorId} />
        {rest !== "" && (
          <LongText long={isLong(rest, 2000, 30)} found={found === p.ts}>
            <div className="drawer-text">
              <Markdown text={rest} />
            </div>
          </LongText>
        )}
        {current && <FailedTodos facts={facts} />}
        {p.results.length > 0 && (
          <Collapsible icon={ListTodo} found={p.results.some((e) => e.ts === found)} title={<b>{t.taskResults(p.results.length)}</b>}>
            {p.results.map((e) => (
              <EntryRow key={e.key} entry={e} named={named} />
            ))}
          </Collapsible>
        )}
        {current && (
          <div className="drawer-actions">
            <Button size="sm" kind="ghost" onClick={() => commands.showPlan(true)}>
              {t.open}
            </Button>
          </div>
        )}
      </article>
    );
  },
  (a, b) => a.named === b.named && samePlanEnd(a.plan, b.plan),
);

/** The tasks that failed, each with a button that tries it again where that is possible. */
function FailedTodos({ facts }: { facts: Facts }): ReactNode {
  const t = useTexts(texts);
  const control = useControl();
  const failed = facts.todos.filter((d) => d.status === "failed");
  if (failed.length === 0) return null;
  return (
    <ul className="drawer-plan-failed">
      {failed.map((d) => (
        <li key={d.id} data-failed={d.id}>
          <span>{t.failedTodo(escapeInvisible(d.task))}</span>
          {actionsFor(d, facts).includes("retry") && (
            <Button size="sm" icon={RotateCw} onClick={() => control("control_retry", { todo_id: d.id })}>
              {t.retry}
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
