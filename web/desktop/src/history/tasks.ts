// The tasks of a session as a tree: messages, and the subtasks delegated for them.

import type { AgentID, DesktopState, MessageID, MonitorID } from "../../../core/src/index.js";
import { parseTurnEnd } from "../drawer/tool.js";

/** A task as the hub lists it. A task is a turn of an agent. */
export interface TaskItem {
  readonly id: string;
  readonly parentTaskId?: string;
  readonly rootTaskId?: string;
  readonly number?: number;
  /** The time of its last event. */
  readonly ts: number;
  readonly task: string;
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** The costs in US dollars: its own, and including its subtasks. */
  readonly costs: { readonly own: number; readonly total: number; readonly unknown: boolean };
  readonly status?: string;
  readonly outcome?: string;
  readonly monitorId?: MonitorID;
  readonly agentId?: AgentID;
  readonly messageId?: MessageID;
}

export interface TaskNode {
  readonly item: TaskItem;
  readonly depth: number;
  readonly children: readonly TaskNode[];
}

export type TaskState = "active" | "delegated" | "completed" | "failed" | "interrupted";

export function stateOf(t: TaskItem): TaskState {
  if (t.outcome === "failed" || t.outcome === "interrupted") return t.outcome;
  if (t.status === "active" || t.status === "delegated") return t.status;
  return "completed";
}

/**
 * The trees, the newest first; subtasks in the order of their start. A task with an unknown parent is a root, and so is
 * a task in a cycle.
 */
export function treeOf(items: readonly TaskItem[]): TaskNode[] {
  const known = new Map(items.map((t) => [t.id, t]));
  const children = new Map<string, TaskItem[]>();
  const roots: TaskItem[] = [];
  for (const t of items) {
    const parent = t.parentTaskId;
    if (parent === undefined || parent === "" || !known.has(parent) || isOwnAncestor(t, known)) roots.push(t);
    else children.set(parent, [...(children.get(parent) ?? []), t]);
  }
  const node = (item: TaskItem, depth: number): TaskNode => ({
    item,
    depth,
    children: (children.get(item.id) ?? []).sort(compareAge).map((c) => node(c, depth + 1)),
  });
  return roots.sort((a, b) => compareAge(b, a)).map((t) => node(t, 0));
}

function isOwnAncestor(t: TaskItem, known: ReadonlyMap<string, TaskItem>): boolean {
  const seen = new Set<string>();
  for (let at: TaskItem | undefined = t; at !== undefined; at = at.parentTaskId ? known.get(at.parentTaskId) : undefined) {
    if (seen.has(at.id)) return true;
    seen.add(at.id);
  }
  return false;
}

/** Compares by number, which is the order of start, then by time. */
function compareAge(a: TaskItem, b: TaskItem): number {
  return (a.number ?? 0) - (b.number ?? 0) || a.ts - b.ts || (a.id < b.id ? -1 : 1);
}

/** The tree in display order. */
export function flatten(nodes: readonly TaskNode[]): TaskNode[] {
  return nodes.flatMap((n) => [n, ...flatten(n.children)]);
}

/** Parses the hub's list; drops invalid items. */
export function itemsOf(list: readonly unknown[] | null): TaskItem[] {
  const number = (n: unknown): number => (typeof n === "number" && Number.isFinite(n) ? n : 0);
  return (list ?? []).flatMap((v) => {
    if (typeof v !== "object" || v === null || typeof (v as TaskItem).id !== "string") return [];
    const t = v as TaskItem & { totalCost?: number; costUnknown?: boolean };
    const own = number(t.costs?.own ?? t.totalCost);
    const costs = { own, total: Math.max(own, number(t.costs?.total)), unknown: (t.costs?.unknown ?? t.costUnknown) === true };
    return [{ ...t, task: typeof t.task === "string" ? t.task : "", ts: number(t.ts), tokensIn: number(t.tokensIn), tokensOut: number(t.tokensOut), costs }];
  });
}

/** The durations of turns by `turnKey`, as far as their rows are loaded. */
export function durationsOf(rows: DesktopState["rows"]): Map<string, number> {
  const all = new Map<string, number>();
  for (const { row } of rows.values()) {
    if (row.say === "api_req_finished") all.set(turnKey(row), parseTurnEnd(row).durationMs);
  }
  return all;
}

export function turnKey({ agentId = "", messageId = "" }: { agentId?: AgentID; messageId?: MessageID }): string {
  return `${agentId} ${messageId}`;
}
