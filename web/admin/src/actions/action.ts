// The admin actions. Each requires a reason; irreversible ones also require typing the end of the session id.

import { type ActionRequest, actionRequests } from "../api/api.js";

export type AdminActionKind = "interruptSession" | "interruptMonitor" | "interruptAgent" | "cancel" | "closeTab" | "handOver" | "reset" | "remove" | "release" | "drain" | "undrain";

export interface AdminAction {
  readonly kind: AdminActionKind;
  /** The id of the session, monitor, agent, message, connection or replica. */
  readonly target: string;
  readonly request: ActionRequest;
  /** The text to type for confirmation. */
  readonly confirm?: string;
  /** Replicas to choose from. */
  readonly choices?: readonly string[];
  readonly requestFor?: (choice: string) => ActionRequest;
}

const tail = (session: string): string => session.slice(-6);

export const adminActions = {
  interruptSession: (session: string): AdminAction => ({ kind: "interruptSession", target: session, request: actionRequests.interrupt(session) }),
  interruptMonitor: (session: string, monitorId: string): AdminAction => ({ kind: "interruptMonitor", target: monitorId, request: actionRequests.interrupt(session, { monitorId }) }),
  interruptAgent: (session: string, agentId: string): AdminAction => ({ kind: "interruptAgent", target: agentId, request: actionRequests.interrupt(session, { agentId }) }),
  cancel: (session: string, message: string): AdminAction => ({ kind: "cancel", target: message, request: actionRequests.cancel(session, message) }),
  closeTab: (session: string, connection: string): AdminAction => ({ kind: "closeTab", target: connection, request: actionRequests.closeTab(session, connection) }),
  handOver: (session: string, replicas: readonly string[]): AdminAction => ({
    kind: "handOver",
    target: session,
    request: actionRequests.handOver(session, replicas[0] ?? ""),
    choices: replicas,
    requestFor: (to) => actionRequests.handOver(session, to),
  }),
  reset: (session: string): AdminAction => ({ kind: "reset", target: session, request: actionRequests.reset(session), confirm: tail(session) }),
  remove: (session: string): AdminAction => ({ kind: "remove", target: session, request: actionRequests.remove(session), confirm: tail(session) }),
  release: (session: string): AdminAction => ({ kind: "release", target: session, request: actionRequests.release(session) }),
  drain: (replica: string): AdminAction => ({ kind: "drain", target: replica, request: actionRequests.drain(replica) }),
  undrain: (replica: string): AdminAction => ({ kind: "undrain", target: replica, request: actionRequests.undrain(replica) }),
};

export const maxReasonLength = 500;

/** Whether the reason and the confirmation are complete. */
export function isReady(action: AdminAction, given: { reason: string; typed: string }): boolean {
  const reason = given.reason.trim();
  return reason !== "" && reason.length <= maxReasonLength && (action.confirm === undefined || given.typed.trim() === action.confirm);
}
