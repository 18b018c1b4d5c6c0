import { CircleCheck, CircleSlash, CircleX, CornerDownLeft, FileText, RotateCw } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import type { MessageID, PlanAttachment, PlanComplete, PlanFailure, PlanStatistics } from "../../../core/src/index.js";
import { escapeInvisible } from "../asks/invisible.js";
import { ownFile } from "../content/addresses.js";
import { Markdown } from "../content/index.js";
import { planTodo } from "../dock/agents.js";
import { usePutBack } from "../dock/drafts.js";
import { type PlanThings, readableText, thingsOf } from "../drawer/plan-ends.js";
import { Linked, useFileLinks } from "../files/linked.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useShell } from "../shell/context.js";
import { useMonitor } from "../shell/select.js";
import { plan as texts } from "../texts/plan.js";
import { Button } from "../ui/button.js";
import { CopyButton } from "../ui/copy.js";
import { useControl } from "./control.js";
import { type Facts, resultOf } from "./facts.js";
import { Things } from "./things.js";

/** The result of a completed plan. */
export function Completed({ complete }: { complete: PlanComplete }): ReactNode {
  const t = useTexts(texts);
  const made = useThings(complete.messageId);
  const monitor = useMonitor();
  const putBack = usePutBack(monitor);
  const { response } = complete;
  return (
    <section className="plan-card plan-card-done" aria-label={t.answerTitle} data-plan-result="complete">
      <h3>
        <CircleCheck size={16} aria-hidden />
        {t.answerTitle}
        <CopyButton text={response.text} label={t.copyAnswer} />
      </h3>
      {!!response.summary && <p className="plan-summary">
          <Linked text={escapeInvisible(response.summary)} />
        </p>}
      <Things {...made} monitor={monitor} />
      <Markdown text={readableText(response.text)} />
      {complete.status === "partial" && <p className="plan-note">{t.partly}</p>}
      {response.attachments.length > 0 && (
        <>
          <h4>{t.attachments}</h4>
          <ul className="plan-files">
            {response.attachments.map((a, i) => (
              <li key={i}>
                <Attachment attachment={a} />
              </li>
            ))}
          </ul>
        </>
      )}
      {response.next_actions.length > 0 && (
        <>
          <h4>{t.next}</h4>
          <div className="plan-next">
            {response.next_actions.map((action) => (
              <Button key={action} size="sm" icon={CornerDownLeft} onClick={() => putBack(action)}>
                {escapeInvisible(action)}
              </Button>
            ))}
          </div>
        </>
      )}
      <Statistics statistics={complete.statistics} />
    </section>
  );
}

/** What the agents of the plan made, by their rows. */
function useThings(messageId: MessageID | undefined): PlanThings {
  const rows = useShell((s) => s.desktop.rows);
  return useMemo(() => {
    const all = [...rows.values()].map((r) => r.row);
    const role = all.findLast((r) => planTodo(r.agentId) === "" && r.messageId === messageId)?.agentId ?? "";
    return thingsOf(all, role);
  }, [rows, messageId]);
}

/** A file of the session. Other addresses are not linked: the model may have invented them. */
function Attachment({ attachment: a }: { attachment: PlanAttachment }): ReactNode {
  const t = useTexts(texts);
  const session = useShell((s) => s.session);
  const open = useFileLinks();
  const path = ownFile(a.url, session);
  const name = escapeInvisible(a.title || a.url.split("/").at(-1) || a.url);
  return (
    <>
      <FileText size={14} aria-hidden />
      {path === undefined ? (
        <span>
          {name} <small>{t.notOurs}</small>
        </span>
      ) : (
        <a href={path} target="_blank" rel="noopener noreferrer" onClick={open}>
          {name}
        </a>
      )}
    </>
  );
}

/** Why a plan failed or was cancelled, its partial results, and a button to retry. */
export function Failed({ failed, facts }: { failed: PlanFailure; facts: Facts }): ReactNode {
  const t = useTexts(texts);
  const control = useControl();
  const { error, partial_results: partial } = failed;
  const cancelled = failed.status === "cancelled";
  const failedTodos = facts.todos.filter((d) => d.status === "failed" || d.id === error.failed_todo);
  const Icon = cancelled ? CircleSlash : CircleX;
  const known: Partial<Record<string, string>> = t as unknown as Record<string, string>;
  const reason = /^[A-Z_]+$/.test(error.code) ? known[error.code] : undefined;
  return (
    <section className="plan-card plan-card-failed" aria-label={cancelled ? t.cancelledTitle : t.failedTitle} data-plan-result="failed">
      <h3>
        <Icon size={16} aria-hidden />
        {cancelled ? t.cancelledTitle : t.failedTitle}
      </h3>
      <p>{[reason, error.message ? escapeInvisible(error.message) : undefined].filter(Boolean).join(" ") || t.noReason}</p>
      {!cancelled &&
        failedTodos.map((todo) => (
          <div key={todo.id} data-failed={todo.id}>
            <p>{t.failedTodo(escapeInvisible(todo.task))}</p>
            <Button size="sm" icon={RotateCw} onClick={() => control("control_retry", { todo_id: todo.id })}>
              {t.retryTodo}
            </Button>
          </div>
        ))}
      <Partial data={partial?.available_data} facts={facts} />
      <Statistics statistics={failed.statistics} />
    </section>
  );
}

function Partial({ data, facts }: { data: unknown; facts: Facts }): ReactNode {
  const t = useTexts(texts);
  const rows = typeof data === "object" && data !== null ? Object.entries(data) : [];
  if (rows.length === 0) return null;
  return (
    <>
      <h4>{t.partial}</h4>
      <dl className="plan-facts">
        {rows.map(([id, value]) => {
          const result = resultOf(value);
          const text = result === undefined ? "" : "text" in result ? result.text : result.fields.map((f) => `${f.name}: ${f.value}`).join("\n");
          return (
            <div key={id}>
              <dt>{escapeInvisible(facts.todos.find((d) => d.id === id)?.task ?? id)}</dt>
              <dd>
                <Linked text={escapeInvisible(text)} />
              </dd>
            </div>
          );
        })}
      </dl>
    </>
  );
}

function Statistics({ statistics: s }: { statistics: PlanStatistics | undefined }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  if (s === undefined) return null;
  const rows = [
    [t.time, format.elapsed(s.execution_time_ms)],
    [t.todosDone, t.items(s.completed, s.total_todos)],
    ...(s.tokens_used > 0 ? [[t.tokens, format.number(s.tokens_used)]] : []),
    ...(s.cost_usd > 0 || s.cost_unknown ? [[t.money, format.cost(s.cost_usd, s.cost_unknown === true)]] : []),
  ];
  return (
    <>
      <h4>{t.statistics}</h4>
      <dl className="plan-facts plan-facts-line">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
