// What there is to say of a plan, made of what the session's state has of it. Pure.

import type { HITLRequest, Layer, PlanState, Todo, TodoID, TodoStatus } from "../../../core/src/index.js";

/** Everything that the state of a session has of its plan. */
export interface Facts {
  readonly plan: PlanState | undefined;
  readonly layer: Layer | undefined;
  readonly todos: readonly Todo[];
  /** What the plan asks, the oldest first. */
  readonly asks: readonly HITLRequest[];
}

export const layers: readonly Layer[] = ["cognitive", "planning", "execution", "response"];

/** Where a plan is, as people see it. */
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

/** Whether a plan is being worked on, or waits for somebody. */
export function isUnderWay(phase: Phase): boolean {
  return phase !== "none" && !isOver(phase);
}

export function isOver(phase: Phase): boolean {
  return phase === "done" || phase === "failed" || phase === "cancelled";
}

export type StepState = "done" | "now" | "later" | "stopped";

/** How the layers of a plan stand. One that was given up stopped where it was. */
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
  if (!isOver(phase)) return plan === undefined ? -1 : 2;
  // The state of a plan that is over has no layer any more; how far it was can be seen by what ran.
  if (todos.length === 0) return 1;
  return todos.some((t) => t.status !== undefined && t.status !== "pending" && t.status !== "cancelled") ? 2 : 1;
}

export interface Counts {
  readonly total: number;
  readonly completed: number;
  readonly skipped: number;
  readonly running: number;
  /** Those that wait for the person. */
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

/** How much of all todos is done, from 0 to 1. One that runs counts as far as it is. */
export function partDone(todos: readonly Todo[]): number {
  if (todos.length === 0) return 0;
  const parts = todos.map((t) => (isSettled(t) ? 1 : t.status === "in_progress" ? Math.min(t.progress_percentage ?? 0, 99) / 100 : 0));
  return parts.reduce((a, b) => a + b, 0) / todos.length;
}

/** Whether nothing waits for a todo any more: it is done, or the plan goes on without it. */
export function isSettled(t: Pick<Todo, "status">): boolean {
  return t.status === "completed" || t.status === "skipped";
}

/** A way to go on with a todo. */
export type TodoAction = "retry" | "skip" | "answer";

/** What can be done about a todo now; the question about it is answered where questions are. */
export function actionsFor(t: Todo, facts: Pick<Facts, "plan" | "asks" | "layer">): TodoAction[] {
  const phase = phaseOf(facts);
  const actions: TodoAction[] = askAbout(t.id, facts.asks) === undefined ? [] : ["answer"];
  // A plan that failed goes on when one of its todos is tried again or left out; one that was given up does not.
  const open = phase === "running" || phase === "paused" || phase === "failed";
  if (!open) return actions;
  if (t.status === "failed" || (t.status === "pending" && (t.retry_count ?? 0) > 0 && t.retry_at !== undefined)) actions.push("retry");
  if (t.status !== undefined && canSkip.has(t.status)) actions.push("skip");
  return actions;
}

const canSkip = new Set<TodoStatus>(["pending", "blocked", "needs_approval", "needs_input", "in_progress", "failed"]);

/** The question that is about a todo. */
export function askAbout(id: TodoID, asks: readonly HITLRequest[]): HITLRequest | undefined {
  return asks.find((a) => (a.type === "hitl_approval_request" || a.type === "hitl_input_request") && a.todo_id === id);
}

/** What came of a todo, for people: the text there is, or the fields by name. */
export function resultOf(summary: unknown): { text: string } | { fields: { name: string; value: string }[] } | undefined {
  if (summary === undefined || summary === null || summary === "") return undefined;
  if (typeof summary !== "object") return { text: String(summary) };
  if (Array.isArray(summary)) return { text: JSON.stringify(summary, null, 2) };
  const entries = Object.entries(summary);
  if (entries.length === 0) return undefined;
  if (entries.length === 1 && entries[0]![0] === "text" && typeof entries[0]![1] === "string") return { text: entries[0]![1] };
  return { fields: entries.map(([name, v]) => ({ name, value: typeof v === "string" ? v : JSON.stringify(v) })) };
}
