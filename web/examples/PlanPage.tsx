// A page that shows only a plan, with the hook. Its address names the session: ?session=…&token=…, and &hub=ws://… for
// a hub other than the one that serves the page.

import { useEffect, useReducer } from "react";
import { createRoot } from "react-dom/client";
import { type BaseMessage, type HitlRequest, type SessionState, type Todo, useAgentWebSocket } from "./useAgentWebSocket.js";

interface PlanView {
  layer: string;
  todos: Record<string, string>;
  hitl: (HitlRequest & { type: string }) | null;
  end: string;
  error: number | null;
  /** The ids of the received messages of the log, and how many of them were received twice. */
  receivedIds: string[];
  duplicates: number;
}

const initial: PlanView = { layer: "", todos: {}, hitl: null, end: "", error: null, receivedIds: [], duplicates: 0 };

function todoStatuses(todos: readonly Todo[] | undefined): Record<string, string> {
  return Object.fromEntries((todos ?? []).map((t) => [t.id, t.status ?? "pending"]));
}

/** How a message changes the view, by its type. */
const handlers: Record<string, (view: PlanView, data: never) => Partial<PlanView>> = {
  session_state: (_, d: SessionState) => (d.mode === "snapshot" ? { layer: d.current_layer ?? "", todos: todoStatuses(d.todos), hitl: d.hitl_pending ?? null } : {}),
  layer_start: (_, d: { layer: string }) => ({ layer: d.layer }),
  plan_generated: (_, d: { todos: Todo[] }) => ({ todos: todoStatuses(d.todos), end: "" }),
  plan_modified: (_, d: { updated_todos: Todo[] }) => ({ todos: todoStatuses(d.updated_todos) }),
  todo_started: (s, d: { todo_id: string }) => ({ todos: { ...s.todos, [d.todo_id]: "in_progress" } }),
  todo_completed: (s, d: { todo_id: string; status: string }) => ({ todos: { ...s.todos, [d.todo_id]: d.status } }),
  todo_failed: (s, d: { todo_id: string }) => ({ todos: { ...s.todos, [d.todo_id]: "failed" } }),
  hitl_plan_review: (_, d: HitlRequest) => ({ hitl: { ...d, type: "hitl_plan_review" } }),
  hitl_approval_request: (_, d: HitlRequest) => ({ hitl: { ...d, type: "hitl_approval_request" } }),
  hitl_input_request: (_, d: HitlRequest) => ({ hitl: { ...d, type: "hitl_input_request" } }),
  hitl_closed: (s, d: HitlRequest) => (s.hitl?.request_id === d.request_id ? { hitl: null } : {}),
  hitl_paused: () => ({ end: "paused" }),
  hitl_resumed: () => ({ end: "" }),
  complete: (_, d: { status: string }) => ({ end: d.status, layer: "" }),
  failed: (_, d: { status: string }) => ({ end: d.status, layer: "" }),
  error: (_, d: { code: number }) => ({ error: d.code }),
};

function reduce(view: PlanView, message: BaseMessage): PlanView {
  const next = { ...view, ...handlers[message.type]?.(view, message.data as never) };
  const id = message.message_id;
  // A session_state has the id of the last event it includes.
  if (id === undefined || message.type === "session_state") return next;
  return { ...next, receivedIds: [...view.receivedIds, id], duplicates: view.duplicates + (view.receivedIds.includes(id) ? 1 : 0) };
}

export function PlanPage({ hub, session, token }: { hub: string; session: string; token: string }) {
  const [view, dispatch] = useReducer(reduce, initial);
  const { connectionState, connect, sendHitlResponse, pause, resume } = useAgentWebSocket({ url: hub, sessionId: session, token, onMessage: dispatch });
  useEffect(connect, [connect]);
  const { hitl } = view;
  return (
    <main>
      <p id="connection">{connectionState}</p>
      <p id="layer">{view.layer}</p>
      <p id="end">{view.end}</p>
      <p id="error">{view.error}</p>
      <p id="twice">{view.duplicates}</p>
      <ul>
        {Object.entries(view.todos).map(([id, status]) => (
          <li key={id} id={`todo-${id}`}>
            {status}
          </li>
        ))}
      </ul>
      {hitl?.type === "hitl_plan_review" && (
        <>
          <button onClick={() => sendHitlResponse(hitl.request_id, { type: "plan", action: "approve" })}>Approve plan</button>
          <button onClick={() => sendHitlResponse(hitl.request_id, { type: "plan", action: "modify", instruction: "add a look at prices" })}>Change plan</button>
        </>
      )}
      {hitl?.type === "hitl_approval_request" && (
        <button onClick={() => sendHitlResponse(hitl.request_id, { type: "approval", todo_id: hitl.todo_id ?? "", action: "approve" })}>Approve todo</button>
      )}
      {hitl?.type === "hitl_input_request" && (
        <button onClick={() => sendHitlResponse(hitl.request_id, { type: "input", field: hitl.field ?? "", value: { from: "2026-01-01", to: "2026-01-31" } })}>
          Give dates
        </button>
      )}
      <button onClick={() => pause("look first")}>Pause</button>
      <button onClick={() => resume()}>Resume</button>
      <button onClick={() => resume({ action: "add", todo_id: "more", task: "/say more", depends_on: [] })}>Resume with more</button>
    </main>
  );
}

const at = new URLSearchParams(location.search);
const session = at.get("session");
createRoot(document.body.appendChild(document.createElement("div"))).render(
  session === null ? (
    <p id="connection">The address names no session: add ?session=…</p>
  ) : (
    <PlanPage hub={at.get("hub") ?? location.origin} session={session} token={at.get("token") ?? ""} />
  ),
);
