// The admin actions. Each requires a reason; irreversible ones also require typing the end of the session id.

import { type Order, orders } from "../api/api.js";

export type AdminActionKind = "interruptSession" | "interruptMonitor" | "interruptAgent" | "cancel" | "closeTab" | "handOver" | "reset" | "remove" | "release" | "drain" | "undrain";

export interface AdminAction {
  readonly kind: AdminActionKind;
  /** The id of the session, monitor, agent, message, connection or replica. */
  readonly target: string;
  readonly order: Order;
  /** The text to type for confirmation. */
  readonly confirm?: string;
  /** Replicas to choose from. */
  readonly choices?: readonly string[];
  readonly orderFor?: (choice: string) => Order;
}

const tail = (session: string): string => session.slice(-6);

export const adminActions = {
  interruptSession: (session: string): AdminAction => ({ kind: "interruptSession", target: session, order: orders.interrupt(session) }),
  interruptMonitor: (session: string, monitorId: string): AdminAction => ({ kind: "interruptMonitor", target: monitorId, order: orders.interrupt(session, { monitorId }) }),
  interruptAgent: (session: string, agentId: string): AdminAction => ({ kind: "interruptAgent", target: agentId, order: orders.interrupt(session, { agentId }) }),
  cancel: (session: string, message: string): AdminAction => ({ kind: "cancel", target: message, order: orders.cancel(session, message) }),
  closeTab: (session: string, connection: string): AdminAction => ({ kind: "closeTab", target: connection, order: orders.closeTab(session, connection) }),
  handOver: (session: string, replicas: readonly string[]): AdminAction => ({
    kind: "handOver",
    target: session,
    order: orders.handOver(session, replicas[0] ?? ""),
    choices: replicas,
    orderFor: (to) => orders.handOver(session, to),
  }),
  reset: (session: string): AdminAction => ({ kind: "reset", target: session, order: orders.reset(session), confirm: tail(session) }),
  remove: (session: string): AdminAction => ({ kind: "remove", target: session, order: orders.remove(session), confirm: tail(session) }),
  release: (session: string): AdminAction => ({ kind: "release", target: session, order: orders.release(session) }),
  drain: (replica: string): AdminAction => ({ kind: "drain", target: replica, order: orders.drain(replica) }),
  undrain: (replica: string): AdminAction => ({ kind: "undrain", target: replica, order: orders.undrain(replica) }),
};

export const maxReasonLength = 500;

/** Whether the reason and the confirmation are complete. */
export function isReady(action: AdminAction, given: { reason: string; typed: string }): boolean {
  const reason = given.reason.trim();
  return reason !== "" && reason.length <= maxReasonLength && (action.confirm === undefined || given.typed.trim() === action.confirm);
}
