import { useMemo } from "react";
import { useShallow } from "zustand/react/shallow";
import type { AgentID, DesktopState, MessageID, MonitorID, WindowID } from "../../../core/src/index.js";
import { workingAgents } from "../dock/agents.js";
import { useShell } from "../shell/context.js";
import { type Entry, entriesOf, isAboutMessages, withDays } from "./entries.js";
import { type RunEntry, withRuns } from "./runs.js";

/** What is shown of some rows, with what is under way. */
export function useEntries(rows: DesktopState["rows"], monitor: MonitorID | undefined): Entry[] {
  const queues = useShell((s) => s.desktop.queues);
  const items = useShell(useShallow((s) => s.outbox.items.filter(isAboutMessages)));
  const working = useWindowsAtWork();
  return useMemo(
    () => withDays(entriesOf({ rows, queues }, items, monitor, working), dayOf),
    [rows, queues, items, monitor, working],
  );
}

/** The same with many steps as one. Agents change with every word they say, who works does not. */
export function useRuns(entries: readonly Entry[]): (Entry | RunEntry)[] {
  const roles = useShell((s) => JSON.stringify(workingAgents(s.desktop.agents).map((a) => a.role)));
  return useMemo(() => withRuns(entries, new Set(JSON.parse(roles) as AgentID[])), [entries, roles]);
}

/** The windows whose agents work on messages. Agents change with every word they say, this does not. */
function useWindowsAtWork(): ReadonlyMap<MessageID, WindowID> {
  const pairs = useShell((s) => {
    const busy = [...s.desktop.agents.values()].filter((a) => a.windowId && a.messageId);
    return JSON.stringify(busy.map((a) => [a.messageId, a.windowId]));
  });
  return useMemo(() => new Map(JSON.parse(pairs) as [MessageID, WindowID][]), [pairs]);
}

function dayOf(ts: number): string {
  return new Date(ts).toDateString();
}

