// Applies the events of plans to the desktop state, by the rules of desktop/plan.go.

import type { KnownEvent } from "./event.js";
import { exact, pick, rawText } from "./exact.js";
import { type DesktopState, type Draft, limits } from "./state.js";
import { firstBytes, utf8Length } from "./text.js";
import type { HITLRequest, PlanFailure, PlanGenerated, PlanState, PlanStatus, SessionState, Todo, TodoID } from "./wire.gen.js";

export function applyPlan(d: Draft, e: KnownEvent): void {
  const desktop = d.desktop;
  const plan = desktop.plan;
  switch (e.type) {
    case "layer_start": {
      if (e.data.layer === "cognitive") clearPlan(d);
      desktop.layer = e.data.layer;
      if (desktop.plan === undefined) return;
      desktop.plan = { ...desktop.plan, complete: undefined, failed: undefined };
      if (e.data.layer !== "execution") return;
      desktop.plan.started_at ||= e.time;
      return setStatus(d, "executing");
    }
    case "layer_complete":
      if (e.data.layer === "response") desktop.layer = "";
      return;
    case "plan_generated":
      return generate(d, e.data);
    case "plan_approved":
      return setStatus(d, "approved");
    case "plan_modified": {
      if (plan === undefined) return;
      const p = e.data;
      setTodos(d, p.updated_todos);
      desktop.plan = { ...plan, ...estimates(p), version: p.new_version, total_todos: desktop.todos.size };
      return;
    }
    case "hitl_plan_review":
    case "hitl_approval_request":
    case "hitl_input_request":
    case "hitl_clarification":
      return openRequest(d, { ...e.data, type: e.type } as HITLRequest);
    case "hitl_closed":
      return d.drop("requests", e.data.request_id);
    case "hitl_paused":
      if (desktop.layer === "") return;
      desktop.plan = {
        ...(plan ?? { total_todos: 0 }),
        status: "paused",
        paused_by: e.data.paused_by,
        pause_reason: e.data.reason,
      };
      return pauseDeadlines(d, e.time);
    case "hitl_resumed":
      return resume(d);
    case "complete": {
      const response = { ...e.data.response, text: firstBytes(e.data.response.text, limits.response) };
      return endPlan(d, { complete: { ...e.data, response } }, "completed");
    }
    case "failed":
      return endPlan(d, { failed: truncateFailure(e.data) }, e.data.status === "cancelled" ? "cancelled" : "failed");
    case "plan_cleared":
      return clearPlan(d);
    default:
      return applyTodo(d, e);
  }
}

/** Applies an event of a todo. Todos that are not in the plan are ignored. */
function applyTodo(d: Draft, e: KnownEvent): void {
  switch (e.type) {
    case "todo_started":
      return editTodo(d, e.data.todo_id, {
        status: "in_progress",
        started_at: e.time,
        agent_id: e.data.agent_id,
        progress_percentage: 0,
        current_step: "",
        items_processed: 0,
        items_total: 0,
        retry_at: 0,
        duration_ms: 0,
        error: undefined,
        result_summary: undefined,
      });
    case "todo_progress": {
      const { progress_percentage, current_step, items_processed, items_total } = e.data;
      return editTodo(d, e.data.todo_id, { progress_percentage, current_step, items_processed, items_total });
    }
    case "todo_updated":
      if (d.desktop.todos.has(e.data.todo.id)) d.edit("todos").set(e.data.todo.id, e.data.todo);
      return;
    case "todo_completed":
      return editTodo(d, e.data.todo_id, {
        result_summary: undefined,
        [exact]: undefined,
        ...pick(e.data, ["status", "result_summary", "duration_ms"]),
        retry_at: 0,
        error: undefined,
        ...(e.data.status === "completed" ? { progress_percentage: 100 } : {}),
      });
    case "todo_failed": {
      const { error, retry_at, retry_count, max_retries } = e.data;
      return editTodo(d, e.data.todo_id, { status: retry_at ? "pending" : "failed", error, retry_at, retry_count, max_retries });
    }
  }
}

function editTodo(d: Draft, id: TodoID, change: Partial<Todo> & { [exact]?: undefined }): void {
  const t = d.desktop.todos.get(id);
  if (t !== undefined) d.edit("todos").set(id, { ...t, ...change });
}

/** Sets the status of the plan. A paused plan stays paused. */
function setStatus(d: Draft, status: PlanStatus): void {
  const plan = d.desktop.plan;
  if (plan !== undefined && plan.status !== "paused") d.desktop.plan = { ...plan, status };
}

function estimates(p: Partial<PlanGenerated>): Partial<PlanState> {
  const { mermaid_diagram, estimated_duration_sec, estimated_cost_usd } = p;
  return { mermaid_diagram, estimated_duration_sec, estimated_cost_usd };
}

function generate(d: Draft, p: PlanGenerated): void {
  setTodos(d, p.todos);
  const old = d.desktop.plan;
  const { status, version, request, messageId } = p;
  d.desktop.plan = { ...estimates(p), id: p.plan_id, status, version, request, messageId, total_todos: d.desktop.todos.size };
  if (old?.status === "paused") d.desktop.plan = { ...d.desktop.plan, ...pick(old, ["status", "paused_by", "pause_reason"]) };
}

/** Replaces the deadlines of questions by the time left, because they restart when the plan resumes. */
function pauseDeadlines(d: Draft, now: number): void {
  for (const q of d.desktop.requests.values()) {
    if (!q.expires_at) continue;
    const left = Math.max(Math.trunc((q.expires_at - now + 999) / 1000), 1);
    d.edit("requests").set(q.request_id, { ...q, timeout_sec: left, expires_at: 0 });
  }
}

function resume(d: Draft): void {
  const { plan, layer, requests } = d.desktop;
  if (plan?.status !== "paused") return;
  const runs = (layer === "execution" || layer === "response") && ![...requests.values()].some((q) => q.type === "hitl_plan_review");
  d.desktop.plan = plan.id
    ? { ...plan, status: runs ? "executing" : "pending_approval", paused_by: "", pause_reason: "" }
    : undefined;
}

/** Records the outcome of the plan, and adds a plan if generation failed before there was one. */
function endPlan(d: Draft, how: Pick<PlanState, "complete" | "failed">, status: PlanStatus): void {
  const plan = d.desktop.plan;
  const p = (how.complete ?? how.failed)!;
  d.desktop.plan = {
    total_todos: 0,
    ...plan,
    id: plan?.id || p.plan_id,
    messageId: plan?.messageId || p.messageId,
    status,
    paused_by: "",
    pause_reason: "",
    complete: how.complete,
    failed: how.failed,
  };
  d.desktop.layer = "";
  d.desktop.requests = new Map();
}

/** Drops the results of a failure that are too large to keep. */
function truncateFailure(p: PlanFailure): PlanFailure {
  const r = p.partial_results;
  if (r?.available_data === undefined || utf8Length(rawText(r, "available_data")) <= limits.available) return p;
  return { ...p, partial_results: { completed_todos: r.completed_todos } };
}

function clearPlan(d: Draft): void {
  d.desktop.plan = undefined;
  d.desktop.layer = "";
  d.desktop.todos = new Map();
  d.desktop.requests = new Map();
}

/** Replaces the todos, in plan order. */
function setTodos(d: Draft, list: readonly Todo[]): void {
  const todos = new Map<TodoID, Todo>();
  for (const t of list) if (todos.has(t.id) || todos.size < limits.todos) todos.set(t.id, t);
  d.desktop.todos = todos;
}

/** Adds or updates a question. */
function openRequest(d: Draft, q: HITLRequest): void {
  const open = d.desktop.requests;
  if (open.has(q.request_id) || open.size < limits.requests) d.edit("requests").set(q.request_id, q);
}

/** Loads the plan of a snapshot. */
export function loadPlan(d: Draft, p: SessionState): void {
  d.desktop.plan = p.plan ?? undefined;
  d.desktop.layer = p.current_layer ?? "";
  setTodos(d, p.todos ?? []);
  for (const q of p.hitl_requests ?? []) openRequest(d, q);
}

/** The plan fields of a snapshot. */
export function planSnapshot(desktop: DesktopState): Partial<SessionState> {
  const requests = [...desktop.requests.values()];
  return {
    plan: desktop.plan,
    current_layer: desktop.layer || undefined,
    todos: [...desktop.todos.values()],
    hitl_requests: requests,
    hitl_pending: requests[0],
  };
}
