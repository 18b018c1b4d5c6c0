import { Brain, Square } from "lucide-react";
import { memo, type ReactNode } from "react";
import type { Agent } from "../../../core/src/index.js";
import { Markdown } from "../content/index.js";
import { agentIcons, useAgentName, useAgentState, useLinkDown } from "../dock/agent-state.js";
import { kindOf } from "../dock/agents.js";
import { useTexts } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { drawer as texts } from "../texts/drawer.js";
import { IconButton } from "../ui/button.js";
import { Collapsible } from "./collapsible.js";

interface Props {
  agent: Agent;
  /** The part of its thinking and text that is in no row yet. */
  thinking: string;
  text: string;
}

/** A working agent: its activity, its thinking, and its text since the last of its rows. */
export const AgentRow = memo(function AgentRow({ agent, thinking, text }: Props): ReactNode {
  const t = useTexts(texts);
  const stale = useLinkDown();
  return (
    <article className={stale ? "drawer-row drawer-agent drawer-stale" : "drawer-row drawer-agent"}>
      <AgentLine agent={agent} />
      {thinking !== "" && (
        <Collapsible icon={Brain} title={<Thinking text={thinking} />}>
          <div className="drawer-thought" tabIndex={0} role="group" aria-label={t.thought}>
            {thinking}
          </div>
        </Collapsible>
      )}
      <div data-stream={agent.role} className="drawer-text">
        {text !== "" && <Markdown text={text} streaming />}
      </div>
    </article>
  );
});

/** The end of the current thinking, in one line. */
function Thinking({ text }: { text: string }): ReactNode {
  const t = useTexts(texts);
  return (
    <>
      <span className="hidden-text">{t.thinking}</span>
      <span className="drawer-tail">
        <bdi>{text.slice(-160).replace(/\s+/g, " ")}</bdi>
      </span>
    </>
  );
}

function AgentLine({ agent }: { agent: Agent }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const name = useAgentName(agent);
  const { doing, elapsed, quiet, stale } = useAgentState(agent);
  const Icon = agentIcons[kindOf(agent)];
  return (
    <div className="drawer-agent-line">
      <Icon size={14} aria-hidden className={stale ? undefined : "dock-alive"} />
      <b>{name}</b>
      <span className={quiet !== undefined ? "drawer-quiet" : undefined}>{quiet ?? doing}</span>
      <span className="drawer-time">{elapsed}</span>
      <IconButton icon={Square} size={12} label={t.stop(name)} onClick={() => commands.stopAgent(agent.role)} />
    </div>
  );
}
