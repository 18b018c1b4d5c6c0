// Derives the display of a plan from the desktop state. Pure.

import type { HITLRequest, Layer, PlanState, Todo, TodoID, TodoStatus } from "../../../core/src/index.js";

/** The parts of the desktop state that concern the plan. */
export interface Facts {
  readonly plan: PlanState | undefined;
  readonly layer: Layer | undefined;
  readonly todos: readonly Todo[];
  /** The open questions of the plan, the oldest first. */
  readonly asks: readonly HITLRequest[];
}

export const layers: readonly Layer[] = ["cognitive", "planning", "execution", "response"];

/** The phase of a plan, as users see it. */
export type Phase = "none" | "understanding" | "planning" | "review" | "running" | "paused" | "answering" | "done" | "failed" | "cancelled";

export function phaseOf({ plan, layer, asks }: Pick<Facts, "plan" | "layer" | "asks">): Phase {
  if (plan?.complete !== undefined || plan?.status === "completed") return "done";
  if (plan?.status === "cancelled" || plan?.status === "rejected") return "cancelled";
  if (plan?.failed !== undefined || plan?.status === "failed") return plan.failed?.status === "cancelled" ? "cancelled" : "failed";
  if (plan?.status === "paused") return "paused";
  switch (layer) {
    case undefined:
      return plan === undefined ? "none" : "running";
    case "cognitive":
      return "understanding";
    case "planning":
      return asks.some((a) => a.type === "hitl_plan_review") ? "review" : "planning";
    case "execution":
      return "running";
    case "response":
      return "answering";
  }
}

/** Whether a plan is running or waiting. */
export function isUnderWay(phase: Phase): boolean {
  return phase !== "none" && !isEnded(phase);
}

export function isEnded(phase: Phase): boolean {
  return phase === "done" || phase === "failed" || phase === "cancelled";
}

export type StepState = "done" | "now" | "later" | "stopped";

/** The states of the layers of a plan. A cancelled or failed plan stopped at its current layer. */
export function stepsOf(facts: Facts): { layer: Layer; state: StepState }[] {
  const phase = phaseOf(facts);
  const at = layerOf(facts, phase);
  return layers.map((layer, i) => {
    if (phase === "done" || i < at) return { layer, state: "done" };
    if (i > at) return { layer, state: "later" };
    return { layer, state: phase === "failed" || phase === "cancelled" ? "stopped" : "now" };
  });
}

function layerOf({ layer, plan, todos }: Facts, phase: Phase): number {
  if (layer !== undefined) return layers.indexOf(layer);
  if (!isEnded(phase)) return plan === undefined ? -1 : 2;
  // A plan that has ended has no layer; the todos that ran show how far it got.
  if (todos.length === 0) return 1;
  return todos.some((t) => t.status !== undefined && t.status !== "pending" && t.status !== "cancelled") ? 2 : 1;
}

export interface Counts {
  readonly total: number;
  readonly completed: number;
  readonly skipped: number;
  readonly running: number;
  /** The todos that wait for the user. */
  readonly asking: number;
  readonly pending: number;
  readonly failed: number;
  readonly blocked: number;
  readonly cancelled: number;
}

export function countsOf(todos: readonly Todo[]): Counts {
  const n = (...of: TodoStatus[]): number => todos.filter((t) => of.includes(t.status ?? "pending")).length;
  return {
    total: todos.length,
    completed: n("completed"),
    skipped: n("skipped"),
    running: n("in_progress"),
    asking: n("needs_approval", "needs_input"),
    pending: n("pending"),
    failed: n("failed"),
    blocked: n("blocked"),
    cancelled: n("cancelled"),
  };
}

/** The fraction of all todos that is done, from 0 to 1. Running todos count by their progress. */
export function partDone(todos: readonly Todo[]): number {
  if (todos.length === 0) return 0;
  const parts = todos.map((t) => (isFinished(t) ? 1 : t.status === "in_progress" ? Math.min(t.progress_percentage ?? 0, 99) / 100 : 0));
  return parts.reduce((a, b) => a + b, 0) / todos.length;
}

/** Whether the plan no longer waits for a todo: it is completed or skipped. */
export function isFinished(t: Pick<Todo, "status">): boolean {
  return t.status === "completed" || t.status === "skipped";
}

/** An action on a todo. */
export type TodoAction = "retry" | "skip" | "answer";

/** The actions on a todo that are possible now; "answer" opens its question. */
export function actionsFor(t: Todo, facts: Pick<Facts, "plan" | "asks" | "layer">): TodoAction[] {
  const phase = phaseOf(facts);
  const actions: TodoAction[] = askAbout(t.id, facts.asks) === undefined ? [] : ["answer"];
  // A failed plan continues when one of its todos is retried or skipped; a cancelled plan does not.
  const open = phase === "running" || phase === "paused" || phase === "failed";
  if (!open) return actions;
  if (t.status === "failed" || (t.status === "pending" && (t.retry_count ?? 0) > 0 && t.retry_at !== undefined)) actions.push("retry");
  if (t.status !== undefined && canSkip.has(t.status)) actions.push("skip");
  return actions;
}

const canSkip = new Set<TodoStatus>(["pending", "blocked", "needs_approval", "needs_input", "in_progress", "failed"]);

/** The question about a todo. */
export function askAbout(id: TodoID, asks: readonly HITLRequest[]): HITLRequest | undefined {
  return asks.find((a) => (a.type === "hitl_approval_request" || a.type === "hitl_input_request") && a.todo_id === id);
}

/** The result of a todo for display: a text, or fields by name. JSON in a text becomes fields. */
export function resultOf(summary: unknown): { text: string } | { fields: { name: string; value: string }[] } | undefined {
  const value = parsed(summary);
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "object" || Array.isArray(value)) return { text: readable(value) };
  const entries = Object.entries(value);
  if (entries.length === 0) return undefined;
  if (entries.length === 1 && ["text", "summary", "result"].includes(entries[0]![0])) return { text: readable(entries[0]![1]) };
  return { fields: entries.map(([name, v]) => ({ name: name.replaceAll(/[_-]+/g, " "), value: readable(v) })) };
}

/** The object or list in a text, which agents may put between fences; other values stay as they are. */
function parsed(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const json = /^\s*(?:```(?:json)?\s*)?([[{][\s\S]*[\]}])\s*(?:```\s*)?$/.exec(value)?.[1];
  if (json === undefined) return value;
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return value;
  }
}

/** A value in words: an item of a list per line, the fields of an object behind each other. */
function readable(v: unknown): string {
  if (Array.isArray(v)) return v.map((item) => `• ${readable(item)}`).join("\n");
  if (typeof v !== "object" || v === null) return v === null ? "–" : String(v);
  return Object.entries(v)
    .map(([name, value]) => `${name.replaceAll(/[_-]+/g, " ")}: ${readable(value)}`)
    .join(", ");
}
