import { Bot, Brain, CircleAlert, CircleCheck, CircleSlash, CircleX, Info, ListTodo, MessageCircleQuestionMark, RotateCw, TriangleAlert, Wrench } from "lucide-react";
import { memo, type ReactNode } from "react";
import type { UIRow } from "../../../core/src/index.js";
import { Markdown } from "../content/index.js";
import { kindOfRole, planTodo, taskNumber, titleIn, windowOfRole } from "../dock/agents.js";
import { checkpointOf, saysCheckpointsOff } from "../history/checkpoint.js";
import { useFound } from "../history/conversation-state.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { monitorNumber } from "../shell/select.js";
import { drawer as texts } from "../texts/drawer.js";
import { history as historyTexts } from "../texts/history.js";
import { toolCalls as toolCallTexts } from "../texts/tool-calls.js";
import { Button } from "../ui/button.js";
import { Collapsible } from "./collapsible.js";
import { Condensed, CondenseFailed, Truncated } from "./context-rows.js";
import { CopyButton } from "./copy.js";
import { type Entry, type RowEntry, sameEntry } from "./entries.js";
import { ErrorCard } from "./error-card.js";
import { isLong, LongText } from "./long-text.js";
import { MessageRow } from "./message-row.js";
import { readableText } from "./plan-ends.js";
import { useReason } from "./reasons.js";
import { interruptionReason, parseQuestion, parseToolCall, parseTurnEnd } from "./tool.js";
import { describeAction } from "./tool-actions.js";

interface Props {
  entry: Entry;
  /** Whether to name the monitor, because rows of several monitors are mixed. */
  named: boolean;
}

export const EntryRow = memo(
  function EntryRow({ entry, named }: Props): ReactNode {
    if (entry.kind === "day") return <Day ts={entry.ts} />;
    const tag = named ? <MonitorTag id={entry.monitorId} /> : null;
    if (entry.kind === "user") return <MessageRow entry={entry} tag={tag} />;
    const shown = entry.kind === "subtask" ? "assistant" : entry.kind;
    const ofTask = kindOfRole(entry.row.agentId ?? "") === "task" && planTodo(entry.row.agentId) !== "" && entry.kind !== "error";
    return (
      <article className={`drawer-row drawer-${entry.kind} ${ofTask ? "drawer-of-task" : ""}`} data-row={entry.ts} data-kind={shown}>
        <Body entry={entry} tag={tag} />
      </article>
    );
  },
  (a, b) => a.named === b.named && sameEntry(a.entry, b.entry),
);

function MonitorTag({ id }: { id: string }): ReactNode {
  const t = useTexts(texts);
  return <span className="drawer-tag">{t.monitor(monitorNumber(id))}</span>;
}

function Day({ ts }: { ts: number }): ReactNode {
  const t = useTexts(texts);
  const language = useShell((s) => s.language);
  const day = new Date(ts).toDateString();
  const today = new Date();
  const yesterday = new Date(today);
  yesterday.setDate(today.getDate() - 1);
  const name = new Intl.DateTimeFormat(language === "ko" ? "ko-KR" : "en-GB", { weekday: "long", month: "long", day: "numeric" });
  return (
    <div className="drawer-day">
      <span>{day === today.toDateString() ? t.today : day === yesterday.toDateString() ? t.yesterday : name.format(ts)}</span>
    </div>
  );
}

function Body({ entry, tag }: { entry: RowEntry; tag: ReactNode }): ReactNode {
  const { row } = entry;
  switch (entry.kind) {
    case "assistant":
    case "subtask":
      return <Answer row={row} subtask={entry.kind === "subtask"} tag={tag} />;
    case "error":
      return (
        <>
          <ErrorCard reason={row.text ?? ""} messageId={row.messageId} monitorId={entry.monitorId} tag={tag} />
          <SwitchOn row={row} />
        </>
      );
    default:
      return (
        <>
          {tag}
          <Plain entry={entry} />
        </>
      );
  }
}

function Plain({ entry: { kind, row } }: { entry: RowEntry }): ReactNode {
  switch (kind) {
    case "thinking":
      return <Thought row={row} />;
    case "tool":
      return <ToolRow row={row} />;
    case "result":
      return <TurnEndLine row={row} />;
    case "resume":
      return <Resume row={row} />;
    case "asked":
      return <AskedLine row={row} />;
    case "condensed":
      return <Condensed row={row} />;
    case "condenseFailed":
      return <CondenseFailed row={row} />;
    case "truncated":
      return <Truncated row={row} />;
    default:
      return <TextLine row={row} retry={kind === "retry"} />;
  }
}

function Answer({ row, subtask, tag }: { row: UIRow; subtask: boolean; tag: ReactNode }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const window = windowOfRole(row.agentId);
  const title = useShell((s) => (window === undefined ? "" : titleIn(s.desktop, row.monitorId ?? "", window)));
  const number = subtask ? taskNumber(row.agentId ?? "") : undefined;
  const todo = planTodo(row.agentId);
  // The todos of earlier plans are no longer known; the id is shown instead.
  const task = useShell((s) => (todo === undefined ? undefined : (s.desktop.todos.get(todo)?.task ?? todo)));
  const Icon = subtask || todo !== undefined ? ListTodo : Bot;
  let name: string | undefined;
  if (task !== undefined) name = task === "" ? t.answerOfPlan : task;
  else if (number !== undefined) name = t.subtask(t.task(number));
  else if (window !== undefined) name = title === "" ? t.ofClosed : t.ofWindow(title);
  const text = subtask ? readableText(row.text ?? "") : (row.text ?? "");
  const found = useFound() === row.ts;
  if (subtask) {
    return (
      <>
        {tag}
        <Collapsible
          icon={ListTodo}
          found={found}
          title={
            <>
              <b>{name}</b>
              <span>{text.slice(0, 200).replace(/[#*_`>]/g, "").replace(/\s+/g, " ")}</span>
            </>
          }
        >
          <div className="drawer-text">
            <Markdown text={text} />
          </div>
        </Collapsible>
        <CopyButton text={text} />
      </>
    );
  }
  return (
    <>
      <div className="drawer-row-head">
        {tag}
        <Icon size={14} aria-hidden />
        {name !== undefined && <span className="drawer-row-name">{name}</span>}
        <time className="drawer-time" dateTime={new Date(row.ts).toISOString()}>
          {format.time(row.ts)}
        </time>
        <CopyButton text={text} />
      </div>
      <LongText long={isLong(text, 8000, 200)} found={found}>
        <div className="drawer-text">
          <Markdown text={text} />
        </div>
      </LongText>
    </>
  );
}

function Thought({ row }: { row: UIRow }): ReactNode {
  const t = useTexts(texts);
  const text = row.text || row.reasoning || "";
  return (
    <>
      <Collapsible
        icon={Brain}
        found={useFound() === row.ts}
        title={
          <>
            <b>{t.thought}</b>
            <span>{text.slice(0, 200).replace(/\s+/g, " ")}</span>
          </>
        }
      >
        <div className="drawer-thought" tabIndex={0} role="group" aria-label={t.thought}>
          {text}
        </div>
      </Collapsible>
      <CopyButton text={text} />
    </>
  );
}

function ToolRow({ row }: { row: UIRow }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const toolCalls = useTexts(toolCallTexts);
  const call = parseToolCall(row);
  const { action } = call;
  const title = useShell((s) => (action?.window === undefined ? "" : titleIn(s.desktop, row.monitorId ?? "", action.window)));
  const ms = call.durationMs;
  return (
    <>
      <Collapsible
        icon={call.failed ? CircleX : Wrench}
        found={useFound() === row.ts}
        {...(call.failed ? { tone: "danger" as const } : {})}
        title={
          <>
            <span>{action === undefined ? call.about : describeAction(toolCalls, action, title, call.failed)}</span>
            {action?.kind === "used" && !call.failed && call.about !== "" && <span>{call.about}</span>}
            {call.failed && <span>{`${t.toolFailed}: ${call.result.replace(/\s+/g, " ").slice(0, 160)}`}</span>}
          </>
        }
        end={
          <>
            <span className="hidden-text">{call.failed ? t.toolFailed : t.toolDone}</span>
            {ms !== undefined && <span className="drawer-time">{ms < 1000 ? `${Math.round(ms)} ms` : format.elapsed(ms)}</span>}
          </>
        }
      >
        {call.input !== "" && <Block title={t.inputOf(call.tool)} text={call.input} />}
        {call.result !== "" && <Block title={call.tool === "" ? t.result : t.resultOf(call.tool)} text={call.result} />}
      </Collapsible>
      <CopyButton text={[call.tool, call.input, call.result].filter((s) => s !== "").join("\n\n")} />
    </>
  );
}

function Block({ title, text }: { title: string; text: string }): ReactNode {
  return (
    <figure className="drawer-block">
      <figcaption>{title}</figcaption>
      <pre tabIndex={0}>{text}</pre>
    </figure>
  );
}

/** The reason of an interrupted turn that adds nothing to "interrupted". */
const interruptedByUser = "the user interrupted it";

function TurnEndLine({ row }: { row: UIRow }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const reason = useReason();
  const end = parseTurnEnd(row);
  const time = end.durationMs < 1000 ? `${Math.round(end.durationMs)} ms` : format.elapsed(end.durationMs);
  const Icon = { completed: CircleCheck, failed: CircleAlert, interrupted: CircleSlash }[end.outcome];
  const parts = [{ completed: t.endCompleted, failed: t.endFailed, interrupted: t.endInterrupted }[end.outcome](time)];
  if (end.inputTokens + end.outputTokens > 0) parts.push(t.tokens(format.number(end.inputTokens), format.number(end.outputTokens)));
  const cost = format.cost(end.costUsd, end.costUnknown);
  if (cost !== "") parts.push(cost);
  if (end.outcome === "interrupted" && end.reason !== "" && end.reason !== interruptedByUser) parts.push(reason(end.reason));
  const text = parts.join(" · ");
  return (
    <>
      <Icon size={12} aria-hidden />
      <span className="drawer-line-text" title={end.cached > 0 ? t.tokensTip(format.number(end.cached)) : undefined}>
        {text}
      </span>
      <CopyButton text={text} />
    </>
  );
}

function TextLine({ row, retry }: { row: UIRow; retry: boolean }): ReactNode {
  const t = useTexts(texts);
  const h = useTexts(historyTexts);
  const commands = useCommands();
  const Icon = retry ? RotateCw : Info;
  const safety = checkpointOf(row)?.safety;
  return (
    <>
      <Icon size={12} aria-hidden />
      <span className="drawer-line-text">
        {retry ? `${t.retry}: ` : ""}
        {row.text}
      </span>
      {safety !== undefined && (
        <Button size="sm" data-undo-restore onClick={() => commands.send("RESTORE_CHECKPOINT", { hash: safety })}>
          {h.undoRestore}
        </Button>
      )}
      <SwitchOn row={row} />
      <CopyButton text={row.text ?? ""} />
    </>
  );
}

/** Switches checkpoints on, in a row that says that they are off. */
function SwitchOn({ row }: { row: UIRow }): ReactNode {
  const t = useTexts(historyTexts);
  const commands = useCommands();
  if (!saysCheckpointsOff(row)) return null;
  return (
    <Button size="sm" onClick={() => commands.send("SET_CHECKPOINTS", { enabled: true })}>
      {t.switchOn}
    </Button>
  );
}

/** A closed question, in one line. */
function AskedLine({ row }: { row: UIRow }): ReactNode {
  const t = useTexts(historyTexts);
  const toolCalls = useTexts(toolCallTexts);
  const { question, action, about, end, answer, byRules } = parseQuestion(row);
  const subject = action === undefined ? question : `${describeAction(toolCalls, action, "", true)} ${action.kind === "used" ? about : ""}`.trim();
  const ends = { yes: t.askYes, no: t.askNo, said: t.askSaid(answer), dismissed: t.askDismissed, expired: t.askExpired, cancelled: t.askCancelled };
  const parts = [t.asked(subject), end === undefined ? t.askOver : ends[end], ...(byRules ? [t.askRules] : []), ...(answer !== "" && end !== "said" ? [answer] : [])];
  const text = parts.join(" · ");
  return (
    <>
      <MessageCircleQuestionMark size={12} aria-hidden />
      <span className="drawer-line-text">{text}</span>
      <CopyButton text={text} />
    </>
  );
}

/** An interrupted turn, with buttons to resume or leave it. */
function Resume({ row }: { row: UIRow }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const why = useReason()(interruptionReason(row));
  const answer = (response: "yesButtonClicked" | "noButtonClicked"): void => {
    commands.send("ASK_RESPONSE", { ts: row.ts, response });
  };
  return (
    <>
      <div className="drawer-row-head">
        <TriangleAlert size={14} aria-hidden />
        <span className="drawer-row-name">{t.cutOff}</span>
        <CopyButton text={why} />
      </div>
      <p className="drawer-reason">{why}</p>
      {row.isAnswered === true ? (
        <p className="drawer-reason">{t.answered}</p>
      ) : (
        <div className="drawer-actions">
          <Button size="sm" kind="primary" onClick={() => answer("yesButtonClicked")}>
            {t.goOn}
          </Button>
          <Button size="sm" onClick={() => answer("noButtonClicked")}>
            {t.leaveIt}
          </Button>
        </div>
      )}
    </>
  );
}
