// The end of a plan as one entry of the conversation: its answer or failure with the results of its tasks, and the files and
// windows that its agents made. Pure.

import type { AgentID, UIRow, WindowID } from "../../../core/src/index.js";
import { planTodo } from "../dock/agents.js";
import { resultOf } from "../plan/facts.js";
import { type Entry, type RowEntry, sameEntry } from "./entries.js";
import { parseToolCall } from "./tool.js";

/** What the agents of a plan made, in the order in which they made it. */
export interface PlanThings {
  readonly windows: readonly { readonly id: WindowID; readonly title: string }[];
  /** The paths of files of the session. */
  readonly files: readonly string[];
}

export interface PlanEnd extends PlanThings {
  readonly kind: "plan";
  readonly key: string;
  readonly ts: number;
  /** The row of the answer, or of the failure. */
  readonly end: RowEntry;
  /** The results of the tasks. */
  readonly results: readonly RowEntry[];
}

/** Makes one entry of the end of each plan. The results of its tasks move into it, so that they are shown once. */
export function withPlanEnds(entries: readonly Entry[]): (Entry | PlanEnd)[] {
  const ends = new Map<AgentID, RowEntry>();
  for (const e of entries) {
    if ((e.kind === "assistant" || e.kind === "error") && planTodo(e.row.agentId) === "") ends.set(e.row.agentId!, e);
  }
  if (ends.size === 0) return [...entries];
  const results = new Map<AgentID, RowEntry[]>();
  const others = entries.filter((e) => {
    if (e.kind !== "subtask") return true;
    const plan = planOf(e.row.agentId);
    const end = ends.get(plan);
    // A task that ends after the plan failed belongs to what goes on.
    if (end === undefined || e.ts > end.ts) return true;
    results.set(plan, [...(results.get(plan) ?? []), e]);
    return false;
  });
  return others.map((e) => {
    if ((e.kind !== "assistant" && e.kind !== "error") || ends.get(e.row.agentId ?? "") !== e) return e;
    const role = e.row.agentId!;
    const made = thingsOf(entries.flatMap((o) => (o.kind === "tool" ? [o.row] : [])), role);
    return { kind: "plan", key: `p${e.ts}`, ts: e.ts, end: e, results: results.get(role) ?? [], ...made };
  });
}

/** The role of the plan that an agent works for; empty for other agents. */
function planOf(role: AgentID | undefined): AgentID {
  return planTodo(role) === undefined ? "" : role!.split("/", 1)[0]!;
}

/** The windows and files that the agents of a plan made, by the rows of their calls. */
export function thingsOf(rows: Iterable<UIRow>, plan: AgentID): PlanThings {
  const windows = new Map<WindowID, string>();
  const files = new Set<string>();
  for (const row of rows) {
    if (row.say !== "tool" || planOf(row.agentId) !== plan || plan === "") continue;
    const { failed, action } = parseToolCall(row);
    if (failed || action === undefined) continue;
    if ((action.kind === "opened" || action.kind === "notebook") && action.window !== undefined) windows.set(action.window, action.what);
    if (action.kind === "closed" && action.window !== undefined) windows.delete(action.window);
    if (action.kind === "saved" && action.what !== "") files.add(action.what);
    if (action.kind === "deleted") files.delete(action.what);
  }
  return { windows: [...windows].map(([id, title]) => ({ id, title })), files: [...files] };
}

export function samePlanEnd(a: PlanEnd, b: PlanEnd): boolean {
  const same = <T>(x: readonly T[], y: readonly T[], equal: (p: T, q: T) => boolean): boolean => x.length === y.length && x.every((v, i) => equal(v, y[i]!));
  return (
    a.key === b.key &&
    sameEntry(a.end, b.end) &&
    same(a.results, b.results, sameEntry) &&
    same(a.files, b.files, (p, q) => p === q) &&
    same(a.windows, b.windows, (p, q) => p.id === q.id && p.title === q.title)
  );
}

/** A text of an agent for display: JSON becomes a list of its fields. */
export function readableText(text: string): string {
  const result = resultOf(text);
  if (result === undefined) return "";
  if ("text" in result) return result.text;
  return result.fields.map(({ name, value }) => `- **${name}**: ${value.replaceAll("\n", "\n  ")}`).join("\n");
}

/** The outcome of an answer in one sentence, and the rest of the answer. */
export function splitOutcome(text: string, summary = ""): { sentence: string; rest: string } {
  const whole = readableText(text).trim();
  if (summary !== "") return { sentence: summary, rest: whole === summary ? "" : whole };
  const plain = /^[^\s#>|`*\-\d[][^\n]*/.exec(whole)?.[0] ?? "";
  const sentence = /^.{1,240}?[.!?。](?=\s|$)/u.exec(plain)?.[0] ?? (plain.length <= 240 ? plain : "");
  return { sentence, rest: whole.slice(sentence.length).trim() };
}
