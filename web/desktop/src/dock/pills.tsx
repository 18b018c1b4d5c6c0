import { Square } from "lucide-react";
import { memo, type ReactNode, useMemo } from "react";
import { type Agent, windowKey } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { monitorNumber, useMonitor } from "../shell/select.js";
import { dock as texts } from "../texts/entry.js";
import { IconButton } from "../ui/button.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { agentIcons, useAgentName, useAgentState, useKindName } from "./agent-state.js";
import { kindOf, workingAgents } from "./agents.js";
import { useFitting } from "./fitting.js";

/** The running agents of all monitors. Those that do not fit are in a menu. */
export function AgentPills(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const agents = useShell((s) => s.desktop.agents);
  const working = useMemo(() => workingAgents(agents), [agents]);
  const { ref, count } = useFitting(pillWidth, moreWidth, working.length);
  const shown = working.slice(0, count);
  const rest = working.slice(count);
  return (
    <div className="dock-agents" ref={ref} role="group" aria-label={t.agents}>
      {shown.map((a) => (
        <Pill key={a.role} agent={a} />
      ))}
      {rest.length > 0 && (
        <Menu
          label={t.moreAgents(rest.length)}
          align="end"
          trigger={(props) => (
            <button type="button" className="dock-more" title={t.moreAgents(rest.length)} {...props}>
              +{rest.length} <span className="hidden-text">{t.moreAgents(rest.length)}</span>
            </button>
          )}
        >
          {(close) => (
            <>
              {rest.map((a) => (
                <AgentItem key={a.role} agent={a} close={close} />
              ))}
              <hr />
              <MenuItem
                danger
                icon={<Square size={12} />}
                onSelect={() => {
                  close();
                  commands.stopAll();
                }}
              >
                {t.stopAll}
              </MenuItem>
            </>
          )}
        </Menu>
      )}
    </div>
  );
}

/** The minimum width of a pill with its gap, in px. */
export const pillWidth = 148;
const moreWidth = 44;

const Pill = memo(function Pill({ agent }: { agent: Agent }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const here = useMonitor() === agent.monitorId;
  const name = useAgentName(agent);
  const kind = useKindName(kindOf(agent));
  const show = useShow(agent);
  const { doing, elapsed, quiet, stale } = useAgentState(agent);
  const Icon = agentIcons[kindOf(agent)];
  const place = here || kindOf(agent) === "main" ? "" : ` ${t.onMonitor(monitorNumber(agent.monitorId ?? ""))}`;
  const tip = [`${kind}: ${name}${place}`, quiet ?? doing, t.elapsed(elapsed), ...(stale ? [t.lastKnown] : [])].join("\n");
  return (
    <div
      className={`dock-pill ${quiet !== undefined ? "dock-pill-quiet" : ""} ${stale ? "dock-stale" : ""}`}
      data-agent={agent.role}
      data-kind={kindOf(agent)}
    >
      <button type="button" className="dock-pill-show" onClick={show} title={tip}>
        <Icon size={14} aria-hidden className={stale || agent.status === "waiting" ? undefined : "dock-alive"} />
        <span className="dock-pill-text">
          <span className="dock-pill-name">
            <b>{name}</b>
            <span className="dock-pill-time">{elapsed}</span>
          </span>
          <span className="dock-pill-doing">{quiet ?? doing}</span>
        </span>
      </button>
      <IconButton icon={Square} size={12} className="dock-pill-stop" label={t.stopAgent(name)} onClick={() => commands.stopAgent(agent.role)} />
    </div>
  );
});

function AgentItem({ agent, close }: { agent: Agent; close: () => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const name = useAgentName(agent);
  const show = useShow(agent);
  const { doing, elapsed, quiet } = useAgentState(agent);
  const Icon = agentIcons[kindOf(agent)];
  return (
    <span data-agent={agent.role} className="dock-item">
      <MenuItem
        icon={<Icon size={14} />}
        hint={elapsed}
        onSelect={() => {
          close();
          show();
        }}
      >
        {name} · {quiet ?? doing}
      </MenuItem>
      <IconButton icon={Square} size={12} className="dock-pill-stop" role="menuitem" label={t.stopAgent(name)} onClick={() => commands.stopAgent(agent.role)} />
    </span>
  );
}

/** Returns a function that shows the monitor of an agent, and its window if it has one. */
function useShow(agent: Agent): () => void {
  const commands = useCommands();
  const window = useShell((s) => s.desktop.windows.get(windowKey(agent.monitorId ?? "", agent.windowId ?? "")));
  return () => {
    if (agent.monitorId) commands.showMonitor(agent.monitorId);
    if (window !== undefined) commands.focusWindow(window);
  };
}
