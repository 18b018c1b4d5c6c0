import { WifiOff } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import type { MonitorID, Say } from "../../../core/src/index.js";
import { useLinkDown } from "../dock/agent-state.js";
import { workingAgents } from "../dock/agents.js";
import { useTexts } from "../i18n/use.js";
import { useEvents, useShell } from "../shell/context.js";
import { drawer as texts } from "../texts/drawer.js";
import { AgentRow } from "./agent-row.js";
import { notInRows } from "./entries.js";

/** The working agents. Their text changes often, so it is rendered apart from the rows. */
export function WorkingAgents({ monitor }: { monitor: MonitorID | undefined }): ReactNode {
  const t = useTexts(texts);
  const agents = useShell((s) => s.desktop.agents);
  const rows = useShell((s) => s.desktop.rows);
  const spent = useShell((s) => monitor !== undefined && s.desktop.monitors.get(monitor)?.state === "over_budget");
  const down = useLinkDown();
  const working = useMemo(
    () => workingAgents(agents).filter((a) => monitor === undefined || a.monitorId === monitor),
    [agents, monitor],
  );
  return (
    <>
      {spent && <p className="drawer-note">{t.overBudget}</p>}
      {down && working.length > 0 && (
        <p className="drawer-note">
          <WifiOff size={14} aria-hidden /> {t.offline}
        </p>
      )}
      {working.map((a) => {
        const agentRows = [...rows.values()].map(({ row }) => row).filter((row) => row.agentId === a.role);
        const shown = (say: Say): string[] => agentRows.filter((row) => row.say === say).map((row) => row.text ?? "");
        return <AgentRow key={a.role} agent={a} thinking={notInRows(a.thinking, shown("reasoning"))} text={notInRows(a.text, shown("text"))} />;
      })}
    </>
  );
}

/** Announces completed texts, and nothing else, to screen readers. */
export function Announcer({ monitor }: { monitor: MonitorID | undefined }): ReactNode {
  const [text, setText] = useState("");
  useEvents((event, replayed) => {
    if (replayed || event.type !== "messageUpdated") return;
    const row = event.data.message;
    const here = monitor === undefined || (row.monitorId || event.data.monitorId) === monitor;
    if (here && row.say === "text" && row.partial !== true && row.text) setText(row.text);
  });
  return (
    <div className="hidden-text" aria-live="polite">
      {text}
    </div>
  );
}
