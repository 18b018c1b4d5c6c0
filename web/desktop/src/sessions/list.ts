// The list of sessions and their order.

import type { SessionCard } from "../shell/api.js";

export type CardState = "working" | "idle" | "setAside";

export function stateOf(s: SessionCard): CardState {
  if (s.setAside === true) return "setAside";
  return s.working ? "working" : "idle";
}

/** The sessions by last use, the newest first. A session with an invalid time comes last. */
export function sortByUse(sessions: readonly SessionCard[]): SessionCard[] {
  return [...sessions].sort((a, b) => usedAt(b) - usedAt(a) || (a.sessionId < b.sessionId ? -1 : 1));
}

/** The time of the last use, in ms; 0 if it is invalid. */
export function usedAt(s: SessionCard): number {
  const at = Date.parse(s.metadata.lastActivity || s.metadata.createdAt);
  return Number.isFinite(at) ? at : 0;
}
