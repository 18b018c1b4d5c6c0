import { Bot, Hourglass, Monitor, TriangleAlert, Wrench } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useMemo, useRef } from "react";
import { useRoleName } from "../dock/agent-state.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useNow } from "../shell/clock.js";
import { useCommands, useHubClock, useShell } from "../shell/context.js";
import { monitorNumber, useMonitor } from "../shell/select.js";
import { asks as texts } from "../texts/asks.js";
import { isComposing } from "../ui/keys.js";
import { Ring } from "../ui/ring.js";
import { answerState } from "./answers.js";
import { ApprovalForm } from "./approval.js";
import { parseArguments } from "./arguments.js";
import { armDelay } from "./arming.js";
import { splitChange } from "./diff.js";
import { consequenceOf, hubQuestionOf, originOf, titleOf } from "./facts.js";
import { escapeInvisible } from "./invisible.js";
import { type Ask, type PlanAsk, timeLeft } from "./order.js";
import { PlanForm, PlanOrigin } from "./plan.js";
import { PromptForm } from "./prompt.js";

interface AskViewProps {
  ask: Ask;
  armed: boolean;
  /** The id of the title element, for the label of the parent. */
  titleId: string;
  onLater?: () => void;
}

/** A question with its origin, details, deadline and answers. */
export function AskView({ ask, armed, titleId, onLater }: AskViewProps): ReactNode {
  const t = useTexts(texts);
  const items = useShell((s) => s.outbox.items);
  const live = useShell((s) => s.link.phase === "live");
  const state = useMemo(() => answerState({ items }, ask), [items, ask]);
  const answers = useRef<AnswerKeys>({});
  const entered = useRef(0);
  const ready = armed && state.state !== "sending";
  const consequence = consequenceOf(ask, t);

  // Single letters answer too, except those of a text that was being typed when the question appeared.
  const onKeyDown = (e: KeyboardEvent<HTMLElement>): void => {
    if (e.target instanceof HTMLElement && e.target.matches("input:not([type=radio]):not([type=checkbox]), textarea")) return;
    if (isComposing(e) || e.repeat || e.ctrlKey || e.metaKey || e.altKey || !e.nativeEvent.isTrusted) return;
    const act = { KeyA: answers.current.approve, KeyR: answers.current.reject, KeyS: onLater }[e.code];
    if (act === undefined || performance.now() - entered.current < armDelay) return;
    if (e.code !== "KeyS" && !ready) return;
    // The card takes the focus by itself, perhaps from something else that uses single letters. "A" therefore works
    // only after the user has moved the focus into the card.
    if (e.code === "KeyA" && e.target === e.currentTarget) return;
    e.preventDefault();
    act();
  };
  return (
    <article
      className="asks-view"
      aria-labelledby={titleId}
      tabIndex={-1}
      onKeyDown={onKeyDown}
      onFocus={(e) => {
        if (!e.currentTarget.contains(e.relatedTarget)) entered.current = performance.now();
      }}
    >
      <div className="asks-head">
        <h3 id={titleId} className="asks-title">
          {titleOf(ask, t)}
        </h3>
        <Deadline ask={ask} />
      </div>
      {consequence !== undefined && (
        <p className={consequence.danger ? "asks-effect asks-effect-danger" : "asks-effect"}>
          {consequence.danger && <TriangleAlert size={16} aria-hidden />}
          {consequence.effect}
        </p>
      )}
      {ask.kind === "plan" ? <PlanOrigin request={ask.request} /> : <AgentOrigin ask={ask} />}
      {ask.kind === "approval" && ask.request.permissionOptions !== undefined && (
        <dl className="asks-facts">
          <dt>
            <Wrench size={14} aria-hidden />
            {t.tool}
          </dt>
          <dd>
            <code>{escapeInvisible(ask.request.permissionOptions.toolName)}</code>
          </dd>
          {!!ask.request.permissionOptions.context && (
            <>
              <dt>{t.scope}</dt>
              <dd>
                <code>{escapeInvisible(ask.request.permissionOptions.context)}</code>
              </dd>
            </>
          )}
        </dl>
      )}
      {ask.kind !== "plan" && ask.request.message !== "" && <Details ask={ask} />}
      {ask.kind === "approval" && <ApprovalForm request={ask.request} ready={ready} keys={answers} onLater={onLater} />}
      {ask.kind === "prompt" && <PromptForm request={ask.request} ready={ready} onLater={onLater} />}
      {ask.kind === "plan" && <PlanForm request={ask.request} ready={ready} keys={answers} onLater={onLater} refused={state.state === "refused" ? state : undefined} />}
      {ask.kind !== "plan" && ask.request.deadline ? <p className="asks-state">{ask.kind === "approval" ? t.noAnswerNo : t.noAnswerSkip}</p> : null}
      <p className={state.state === "refused" ? "asks-state asks-state-refused" : "asks-state"} role="status">
        {state.state === "sending" && (live ? t.sending : t.sendingLater)}
        {state.state === "refused" && (state.code === 5003 ? t.already : `${t.refused} ${state.reason}`)}
      </p>
    </article>
  );
}

/** The message of a question. The arguments of tools are shown as a list. */
function Details({ ask }: { ask: Exclude<Ask, PlanAsk> }): ReactNode {
  const t = useTexts(texts);
  const message = hubQuestionOf(ask, t)?.message ?? ask.request.message;
  const tool = ask.kind === "approval" ? ask.request.permissionOptions?.toolName : undefined;
  const args = useMemo(() => (tool === undefined ? undefined : parseArguments(message, tool)), [message, tool]);
  if (args?.length === 0 || message === "") return null;
  if (args === undefined || args[0]!.name === "") {
    return (
      <pre className={ask.kind === "approval" ? "asks-message asks-message-code" : "asks-message"} tabIndex={0} role="group" aria-label={t.details} data-scrolls>
        {escapeInvisible(args?.[0]?.value ?? message)}
      </pre>
    );
  }
  const split = splitChange(args);
  return (
    <div className="asks-message asks-message-code" tabIndex={0} role="group" aria-label={t.details} data-scrolls>
      <dl className="asks-arguments">
        {(split?.rest ?? args).map(({ name, value }) => (
          <div key={name}>
            <dt>{escapeInvisible(name)}</dt>
            <dd>{escapeInvisible(value)}</dd>
          </div>
        ))}
      </dl>
      {split !== undefined && (
        <pre className="asks-diff" aria-label={t.change}>
          {split.change.map((line, n) => (
            <span key={n} className={`asks-diff-${line.kind}`}>
              {escapeInvisible(line.text)}
            </span>
          ))}
        </pre>
      )}
    </div>
  );
}

/** The answers that have keyboard shortcuts. */
export interface AnswerKeys {
  approve?: () => void;
  reject?: () => void;
}

function AgentOrigin({ ask }: { ask: Exclude<Ask, PlanAsk> }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const agents = useShell((s) => s.desktop.agents);
  const pinned = useShell((s) => s.view.pinned);
  const here = useMonitor();
  const from = useMemo(() => originOf(ask, { agents }), [ask, agents]);
  const name = useRoleName(from.agent, from.monitor);
  const n = monitorNumber(from.monitor);
  return (
    <p className="asks-from">
      <span className="hidden-text">{t.from}</span>
      <span className="asks-from-part">
        <Bot size={14} aria-hidden />
        {escapeInvisible(name ?? from.agent) || t.unknownAgent}
      </span>
      {from.monitor === here || pinned ? (
        <span className="asks-from-part">
          <Monitor size={14} aria-hidden />
          {t.monitor(n)}
        </span>
      ) : (
        <button type="button" className="asks-from-part asks-from-go" title={t.showMonitor(n)} onClick={() => commands.showMonitor(from.monitor)}>
          <Monitor size={14} aria-hidden />
          {t.monitor(n)}
        </button>
      )}
    </p>
  );
}

function Deadline({ ask }: { ask: Ask }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const hub = useHubClock();
  const now = useNow(500);
  const paused = useShell((s) => s.desktop.plan?.status === "paused") && ask.kind === "plan";
  const { ms, part } = timeLeft(ask, hub.at(now));
  if (paused) return <span className="asks-deadline">{t.noHurry}</span>;
  if (ms === Infinity) return null;
  const time = format.elapsed(Math.ceil(ms / 1000) * 1000);
  const tone = ms < 10_000 ? "danger" : ms < 20_000 ? "warning" : "accent";
  return (
    <span className={`asks-deadline asks-deadline-${tone}`}>
      {ms > 0 ? <Ring part={part} size={18} tone={tone} label={t.leftLabel(time)} /> : <Hourglass size={16} aria-hidden />}
      <span aria-hidden={ms > 0}>{ms > 0 ? t.left(time) : t.timeUp}</span>
    </span>
  );
}
