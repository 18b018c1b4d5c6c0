// The list of sessions as people look for one.

import type { SessionCard } from "../shell/api.js";

export type CardState = "working" | "idle" | "setAside";

export function stateOf(s: SessionCard): CardState {
  if (s.setAside === true) return "setAside";
  return s.working ? "working" : "idle";
}

/** The sessions by last use, the newest first. One whose time cannot be read comes last. */
export function byUse(sessions: readonly SessionCard[]): SessionCard[] {
  return [...sessions].sort((a, b) => usedAt(b) - usedAt(a) || (a.sessionId < b.sessionId ? -1 : 1));
}

/** When it was last used, in ms; 0 when nobody knows. */
export function usedAt(s: SessionCard): number {
  const at = Date.parse(s.metadata.lastActivity || s.metadata.createdAt);
  return Number.isFinite(at) ? at : 0;
}
