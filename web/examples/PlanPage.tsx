// A page with nothing but a plan, on the hook. Its address names the session: ?session=…&token=…, and &hub=ws://… for a hub
// other than the one that serves the page.

import { useEffect, useReducer } from "react";
import { createRoot } from "react-dom/client";
import { type BaseMessage, type HitlRequest, type SessionState, type Todo, useAgentWebSocket } from "./useAgentWebSocket.js";

interface Seen {
  layer: string;
  todos: Record<string, string>;
  hitl: (HitlRequest & { type: string }) | null;
  end: string;
  error: number | null;
  /** How many messages of the log came, and how many of them came twice. */
  heard: string[];
  twice: number;
}

const nothing: Seen = { layer: "", todos: {}, hitl: null, end: "", error: null, heard: [], twice: 0 };

function listed(todos: readonly Todo[] | undefined): Record<string, string> {
  return Object.fromEntries((todos ?? []).map((t) => [t.id, t.status ?? "pending"]));
}

/** What a message makes of what was seen, by its type. */
const handlers: Record<string, (seen: Seen, data: never) => Partial<Seen>> = {
  session_state: (_, d: SessionState) => (d.mode === "snapshot" ? { layer: d.current_layer ?? "", todos: listed(d.todos), hitl: d.hitl_pending ?? null } : {}),
  layer_start: (_, d: { layer: string }) => ({ layer: d.layer }),
  plan_generated: (_, d: { todos: Todo[] }) => ({ todos: listed(d.todos), end: "" }),
  plan_modified: (_, d: { updated_todos: Todo[] }) => ({ todos: listed(d.updated_todos) }),
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

function reduce(seen: Seen, message: BaseMessage): Seen {
  const next = { ...seen, ...handlers[message.type]?.(seen, message.data as never) };
  const id = message.message_id;
  // A state has the id of the last event that is in it.
  if (id === undefined || message.type === "session_state") return next;
  return { ...next, heard: [...seen.heard, id], twice: seen.twice + (seen.heard.includes(id) ? 1 : 0) };
}

export function PlanPage({ hub, session, token }: { hub: string; session: string; token: string }) {
  const [seen, see] = useReducer(reduce, nothing);
  const { connectionState, connect, sendHitlResponse, pause, resume } = useAgentWebSocket({ url: hub, sessionId: session, token, onMessage: see });
  useEffect(connect, [connect]);
  const { hitl } = seen;
  return (
    <main>
      <p id="connection">{connectionState}</p>
      <p id="layer">{seen.layer}</p>
      <p id="end">{seen.end}</p>
      <p id="error">{seen.error}</p>
      <p id="twice">{seen.twice}</p>
      <ul>
        {Object.entries(seen.todos).map(([id, status]) => (
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
