// A React hook for the plans of a session, for custom pages. It uses only the documented protocol: one WebSocket, JSON,
// resume_from.

import { useCallback, useEffect, useRef, useState } from "react";

export type ConnectionState = "disconnected" | "connecting" | "connected" | "reconnecting" | "failed";

/** The fields of every message. */
export interface BaseMessage {
  type: string;
  session_id: string;
  message_id?: string;
  timestamp: string;
  data?: unknown;
}

export interface Todo {
  id: string;
  task: string;
  status?: string;
  depends_on: string[];
  progress_percentage?: number;
}

export interface HitlRequest {
  request_id: string;
  timeout_sec: number;
  todo_id?: string;
  field?: string;
  question?: string;
  plan?: { todos: Todo[] };
}

export interface SessionState {
  mode: "snapshot" | "resume";
  status?: string;
  current_layer?: string | null;
  todos?: Todo[];
  hitl_pending?: (HitlRequest & { type: string }) | null;
  last_message_id?: string;
}

/** A response to hitl_plan_review, hitl_approval_request, hitl_input_request or hitl_clarification. */
export type HitlResponse =
  | { type: "plan"; action: "approve" | "modify" | "reject"; comment?: string; instruction?: string }
  | { type: "approval"; todo_id: string; action: "approve" | "skip" | "reject"; comment?: string; reason?: string }
  | { type: "input"; field: string; value: unknown }
  | { type: "clarification"; value: unknown };

export interface UseAgentWebSocketOptions {
  /** The address of the hub, such as ws://localhost:8080; http and https become ws and wss. */
  url: string;
  sessionId: string;
  token?: string;
  onMessage?: (message: BaseMessage) => void;
  onLayerStart?: (data: { layer: string }) => void;
  onTodoUpdate?: (type: string, data: { todo_id: string }) => void;
  onHitlRequest?: (type: string, data: HitlRequest) => void;
  onComplete?: (data: { status: string }) => void;
  onError?: (error: { code: number; message: string; field?: string }) => void;
}

/** The delays between attempts to reconnect, in ms. */
const reconnection = { maxRetries: 5, initialDelay: 1000, maxDelay: 30_000, backoffMultiplier: 2 };

/** The close codes after which reconnecting is useless. */
const terminal = new Set([4400, 4401, 4403, 4404, 4410]);

export function useAgentWebSocket(options: UseAgentWebSocketOptions) {
  const [connectionState, setConnectionState] = useState<ConnectionState>("disconnected");
  const [sessionState, setSessionState] = useState<SessionState | null>(null);
  const wsRef = useRef<WebSocket | null>(null);
  const timeoutRef = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const lastRef = useRef<string | undefined>(undefined);
  const retriesRef = useRef(0);
  const optionsRef = useRef(options);
  optionsRef.current = options;

  const send = useCallback((type: string, data: object = {}) => {
    if (wsRef.current?.readyState === WebSocket.OPEN) {
      wsRef.current.send(JSON.stringify({ type, session_id: optionsRef.current.sessionId, data }));
    }
  }, []);

  const handle = useCallback(
    (message: BaseMessage) => {
      const o = optionsRef.current;
      if (message.message_id !== undefined) lastRef.current = message.message_id;
      switch (message.type) {
        case "ping":
          send("pong");
          return;
        case "session_state": {
          const state = message.data as SessionState;
          // In mode "resume" only the missed messages follow; the known state remains valid.
          if (state.mode === "snapshot") {
            lastRef.current = state.last_message_id;
            setSessionState(state);
          }
          break;
        }
        case "layer_start":
          o.onLayerStart?.(message.data as { layer: string });
          break;
        case "todo_started":
        case "todo_progress":
        case "todo_completed":
        case "todo_failed":
          o.onTodoUpdate?.(message.type, message.data as { todo_id: string });
          break;
        case "hitl_plan_review":
        case "hitl_approval_request":
        case "hitl_input_request":
        case "hitl_clarification":
          o.onHitlRequest?.(message.type, message.data as HitlRequest);
          break;
        case "complete":
          o.onComplete?.(message.data as { status: string });
          break;
        case "error":
          o.onError?.(message.data as { code: number; message: string });
          break;
      }
      o.onMessage?.(message);
    },
    [send],
  );

  const connect = useCallback(() => {
    const o = optionsRef.current;
    const address = new URL(`/ws/${o.sessionId}`, o.url);
    address.protocol = address.protocol.replace("http", "ws");
    if (o.token !== undefined) address.searchParams.set("token", o.token);
    if (lastRef.current !== undefined) address.searchParams.set("resume_from", lastRef.current);
    setConnectionState(retriesRef.current > 0 ? "reconnecting" : "connecting");
    // Without a subprotocol the hub always starts with session_state.
    const ws = new WebSocket(address);
    wsRef.current = ws;
    ws.onopen = () => {
      retriesRef.current = 0;
      setConnectionState("connected");
    };
    ws.onmessage = (event) => handle(JSON.parse(event.data as string) as BaseMessage);
    ws.onclose = (event) => {
      if (wsRef.current !== ws) return; // closed on purpose, or replaced
      wsRef.current = null;
      if (terminal.has(event.code) || retriesRef.current >= reconnection.maxRetries) {
        setConnectionState("failed");
        return;
      }
      setConnectionState("reconnecting");
      const delay = Math.min(reconnection.initialDelay * reconnection.backoffMultiplier ** retriesRef.current, reconnection.maxDelay);
      retriesRef.current++;
      timeoutRef.current = setTimeout(connect, delay);
    };
  }, [handle]);

  const disconnect = useCallback(() => {
    clearTimeout(timeoutRef.current);
    const ws = wsRef.current;
    wsRef.current = null;
    ws?.close(1000);
    setConnectionState("disconnected");
  }, []);

  useEffect(() => disconnect, [disconnect]);

  const sendHitlResponse = useCallback(
    (requestId: string, { type, ...response }: HitlResponse) => send(`hitl_${type}_response`, { request_id: requestId, ...response }),
    [send],
  );
  const pause = useCallback((reason = "") => send("control_pause", { reason }), [send]);
  const resume = useCallback((...modifications: unknown[]) => send("control_resume", { modifications }), [send]);

  return { connectionState, sessionState, connect, disconnect, send, sendHitlResponse, pause, resume };
}
