import { MessagesSquare, RotateCw, ShieldQuestion, SkipForward, X } from "lucide-react";
import { type ReactNode, useId } from "react";
import type { AgentID, Todo } from "../../../core/src/index.js";
import { escapeInvisible } from "../asks/invisible.js";
import { useAgentState } from "../dock/agent-state.js";
import { useReason } from "../drawer/reasons.js";
import { Linked } from "../files/linked.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { usePhone } from "../shell/viewport.js";
import { plan as texts } from "../texts/plan.js";
import { Button, IconButton } from "../ui/button.js";
import { useControl } from "./control.js";
import { actionsFor, askAbout, type Facts, resultOf } from "./facts.js";
import { attemptText, Status } from "./todo.js";

interface DetailsProps {
  todo: Todo;
  facts: Facts;
  onClose: () => void;
}

/** One todo with its details and actions. */
export function Details({ todo, facts, onClose }: DetailsProps): ReactNode {
  const t = useTexts(texts);
  const inWords = useReason();
  const format = useFormat();
  const heading = useId();
  const tries = todo.retry_count ?? 0;
  const rows: [string, ReactNode][] = [];
  if (todo.tool) rows.push([t.tool, <code key="tool">{escapeInvisible(todo.tool)}</code>]);
  if (todo.priority) rows.push([t.priority, format.number(todo.priority)]);
  if (todo.estimated_duration_sec || todo.estimated_cost_usd) {
    const both = [todo.estimated_duration_sec ? format.elapsed(todo.estimated_duration_sec * 1000) : "", todo.estimated_cost_usd ? format.usd(todo.estimated_cost_usd) : ""];
    rows.push([t.estimated, both.filter(Boolean).join(" · ")]);
  }
  if (todo.duration_ms) rows.push([t.took, format.elapsed(todo.duration_ms)]);
  if (tries > 0) rows.push([t.tries, attemptText(todo, t)]);
  if (todo.items_total) rows.push([t.itemsDone, t.items(todo.items_processed ?? 0, todo.items_total)]);
  return (
    <section ref={(el) => el?.scrollIntoView({ block: "nearest" })} className="plan-details" aria-labelledby={heading} data-details={todo.id}>
      <div className="plan-details-head">
        <h3 id={heading}>{escapeInvisible(todo.task)}</h3>
        <IconButton icon={X} size={14} label={t.closeTodo} onClick={onClose} />
      </div>
      <p className="plan-details-status" data-status={todo.status ?? "pending"}>
        <Status todo={todo} />
        {todo.requires_approval === true && todo.status === "pending" && <span>{t.asksFirst}</span>}
      </p>
      {rows.length > 0 && (
        <dl className="plan-facts">
          {rows.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {todo.error !== undefined && todo.status !== "completed" && (
        <div className="plan-failure">
          <h4>{t.failure}</h4>
          <p>{escapeInvisible(inWords(todo.error.message || todo.error.code))}</p>
        </div>
      )}
      <Result summary={todo.result_summary} />
      {!!todo.agent_id && todo.status === "in_progress" && <TodoAgent role={todo.agent_id} />}
      <TodoActions todo={todo} facts={facts} />
    </section>
  );
}

function Result({ summary }: { summary: unknown }): ReactNode {
  const t = useTexts(texts);
  const result = resultOf(summary);
  if (result === undefined) return null;
  return (
    <div>
      <h4>{t.result}</h4>
      {"text" in result ? (
        <p className="plan-said" tabIndex={0} role="group" aria-label={t.result}>
          <Linked text={escapeInvisible(result.text)} />
        </p>
      ) : (
        <dl className="plan-facts">
          {result.fields.map(({ name, value }) => (
            <div key={name}>
              <dt>{escapeInvisible(name)}</dt>
              <dd>{escapeInvisible(value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}

/** The agent that works on a todo, with the last line of its text. */
function TodoAgent({ role }: { role: AgentID }): ReactNode {
  const agent = useShell((s) => s.desktop.agents.get(role));
  if (agent === undefined) return null;
  return <AgentLine agent={agent} />;
}

function AgentLine({ agent }: { agent: Parameters<typeof useAgentState>[0] }): ReactNode {
  const t = useTexts(texts);
  const { doing, elapsed, quiet } = useAgentState(agent);
  const lastLine = agent.text.trimEnd().split("\n").at(-1) ?? "";
  return (
    <p className="plan-agent">
      <b>{t.agent}</b> {quiet ?? doing} · {elapsed}
      {lastLine !== "" && <span>{escapeInvisible(lastLine.slice(-200))}</span>}
    </p>
  );
}

function TodoActions({ todo, facts }: { todo: Todo; facts: Facts }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const phone = usePhone();
  const control = useControl();
  const actions = actionsFor(todo, facts);
  const ask = askAbout(todo.id, facts.asks);
  return (
    <div className="plan-actions">
      {actions.includes("answer") && (
        <Button size="sm" kind="primary" icon={ShieldQuestion} onClick={() => commands.showAsk(`plan/${ask!.request_id}`)}>
          {ask!.type === "hitl_approval_request" ? t.approve : t.answer}
        </Button>
      )}
      {actions.includes("retry") && (
        <Button size="sm" icon={RotateCw} onClick={() => control("control_retry", { todo_id: todo.id })}>
          {t.retry}
        </Button>
      )}
      {actions.includes("skip") && (
        <Button size="sm" icon={SkipForward} onClick={() => control("control_skip", { todo_id: todo.id })}>
          {t.skip}
        </Button>
      )}
      {!!todo.agent_id && (
        <Button
          size="sm"
          kind="ghost"
          icon={MessagesSquare}
          onClick={() => {
            commands.showDrawer(true);
            if (phone) {
              commands.showPhonePage("chat");
              commands.showPlan(false);
            }
          }}
        >
          {t.conversation}
        </Button>
      )}
    </div>
  );
}
