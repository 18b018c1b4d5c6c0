// The tasks of a session as a tree: what was asked, and what was handed on for it.

import type { AgentID, DesktopState, MessageID, MonitorID } from "../../../core/src/index.js";
import { endOf } from "../drawer/tool.js";

/** A task as the hub lists it. A task is a turn of an agent. */
export interface TaskItem {
  readonly id: string;
  readonly parentTaskId?: string;
  readonly rootTaskId?: string;
  readonly number?: number;
  /** When something was last heard of it. */
  readonly ts: number;
  readonly task: string;
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** In dollars: its own, and with all that was handed on. */
  readonly costs: { readonly own: number; readonly total: number };
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
 * The trees, the newest first; what was handed on is in the order it was. A task whose parent is not there is a root, and
 * one that is its own ancestor is shown once.
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
    children: (children.get(item.id) ?? []).sort(byAge).map((c) => node(c, depth + 1)),
  });
  return roots.sort((a, b) => byAge(b, a)).map((t) => node(t, 0));
}

function isOwnAncestor(t: TaskItem, known: ReadonlyMap<string, TaskItem>): boolean {
  const seen = new Set<string>();
  for (let at: TaskItem | undefined = t; at !== undefined; at = at.parentTaskId ? known.get(at.parentTaskId) : undefined) {
    if (seen.has(at.id)) return true;
    seen.add(at.id);
  }
  return false;
}

/** By number where there is one, since that is the order they began in. */
function byAge(a: TaskItem, b: TaskItem): number {
  return (a.number ?? 0) - (b.number ?? 0) || a.ts - b.ts || (a.id < b.id ? -1 : 1);
}

/** The tree from the top to the bottom, as it is drawn. */
export function flat(nodes: readonly TaskNode[]): TaskNode[] {
  return nodes.flatMap((n) => [n, ...flat(n.children)]);
}

/** What the hub listed, without what is no task. */
export function itemsOf(list: readonly unknown[] | null): TaskItem[] {
  const number = (n: unknown): number => (typeof n === "number" && Number.isFinite(n) ? n : 0);
  return (list ?? []).flatMap((v) => {
    if (typeof v !== "object" || v === null || typeof (v as TaskItem).id !== "string") return [];
    const t = v as TaskItem & { totalCost?: number };
    const own = number(t.costs?.own ?? t.totalCost);
    const costs = { own, total: Math.max(own, number(t.costs?.total)) };
    return [{ ...t, task: typeof t.task === "string" ? t.task : "", ts: number(t.ts), tokensIn: number(t.tokensIn), tokensOut: number(t.tokensOut), costs }];
  });
}

/** How long turns took, by who took them for which message, as far as their rows are there. */
export function durationsOf(rows: DesktopState["rows"]): Map<string, number> {
  const all = new Map<string, number>();
  for (const { row } of rows.values()) {
    if (row.say === "api_req_finished") all.set(turnKey(row), endOf(row).durationMs);
  }
  return all;
}

export function turnKey({ agentId = "", messageId = "" }: { agentId?: AgentID; messageId?: MessageID }): string {
  return `${agentId} ${messageId}`;
}
