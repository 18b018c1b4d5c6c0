import { useMemo } from "react";
import { useShallow } from "zustand/react/shallow";
import type { AgentID, DesktopState, MessageID, MonitorID, WindowID } from "../../../core/src/index.js";
import { workingAgents } from "../dock/agents.js";
import { useShell } from "../shell/context.js";
import { type Entry, entriesOf, isAboutMessages, withDays } from "./entries.js";
import { type PlanEnd, withPlanEnds } from "./plan-ends.js";
import { groupSteps, type StepGroup } from "./step-groups.js";

/** The entries of rows, with queued and pending messages. */
export function useEntries(rows: DesktopState["rows"], monitor: MonitorID | undefined): Entry[] {
  const queues = useShell((s) => s.desktop.queues);
  const items = useShell(useShallow((s) => s.outbox.items.filter(isAboutMessages)));
  const working = useWorkingWindows();
  return useMemo(
    () => withDays(entriesOf({ rows, queues }, items, monitor, working), dayOf),
    [rows, queues, items, monitor, working],
  );
}

/**
 * The entries with their steps grouped and the ends of plans. Agents change with every word they write; this depends only on which agents
 * work.
 */
export function useGroupedEntries(entries: readonly Entry[]): (Entry | PlanEnd | StepGroup)[] {
  const roles = useShell((s) => JSON.stringify(workingAgents(s.desktop.agents).map((a) => a.role)));
  return useMemo(() => groupSteps(withPlanEnds(entries), new Set(JSON.parse(roles) as AgentID[])), [entries, roles]);
}

/** The windows whose agents work on messages. Agents change with every word they write; this value does not. */
function useWorkingWindows(): ReadonlyMap<MessageID, WindowID> {
  const pairs = useShell((s) => {
    const busy = [...s.desktop.agents.values()].filter((a) => a.windowId && a.messageId);
    return JSON.stringify(busy.map((a) => [a.messageId, a.windowId]));
  });
  return useMemo(() => new Map(JSON.parse(pairs) as [MessageID, WindowID][]), [pairs]);
}

function dayOf(ts: number): string {
  return new Date(ts).toDateString();
}

