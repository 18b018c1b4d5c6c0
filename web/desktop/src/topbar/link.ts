// The state of the link chip, from the connection and the browser. It says nothing about the agents.

import { isStoreUnavailable, type Link, type StoreStatus } from "../../../core/src/index.js";

export type ChipState = "live" | "storeless" | "connecting" | "reconnecting" | "offline" | "stopped";

/** Why the connection stays closed until the user acts; `misused` means that the hub refused what this page sent. */
export type StopCause = "signIn" | "forbidden" | "gone" | "misused" | "ended";

export interface Chip {
  readonly state: ChipState;
  /** Whether the chip is only a dot. */
  readonly quiet: boolean;
  /** Seconds until the next attempt; 0 while one is running. */
  readonly retryIn: number;
  /** Only in state "stopped". */
  readonly cause?: StopCause;
}

/** How long a connection may be down before the chip says so, in ms. */
export const quietTime = 3_000;

/** How long the chip shows that the connection or the store is back, in ms. */
export const recoveryNoteTime = 2_000;

/** The chip for a link. `online` is the browser's network state. */
export function chipOf(link: Link, online: boolean, now: number): Chip {
  // The hub itself reports that its store is unavailable, so the connection is not lost and no retry is offered.
  if (isStoreUnavailable(link)) return { state: "storeless", quiet: false, retryIn: 0 };
  if (link.phase === "live") return { state: "live", quiet: true, retryIn: 0 };
  if (link.phase === "stopped") return { state: "stopped", quiet: false, retryIn: 0, cause: stopCause(link.code) };
  const retryIn = link.phase === "waiting" ? Math.max(0, Math.ceil((link.retryAt - now) / 1000)) : 0;
  // The first connection is reported at once, a short interruption is not.
  const first = link.stats.connections === 0;
  const away = link.downSince > 0 ? now - link.downSince : 0;
  if (!online && (first || away >= quietTime)) return { state: "offline", quiet: false, retryIn };
  if (away >= quietTime) return { state: "reconnecting", quiet: false, retryIn };
  return { state: "connecting", quiet: !first, retryIn };
}

/** The cause for a close code; the catalog `closeCodes` has their meanings. */
export function stopCause(code: number): StopCause {
  switch (code) {
    case 4401: // not signed in
    case 4411: // signed out
      return "signIn";
    case 4403: // not allowed
      return "forbidden";
    case 4404: // no such session
    case 4410: // the session has expired
      return "gone";
    case 4400: // five invalid messages in a minute
      return "misused";
    default:
      return "ended";
  }
}

/** Whether the session no longer accepts messages from this tab: it was deleted, or the user has no access. */
export function isSessionClosed(link: Pick<Link, "phase" | "code">): boolean {
  const cause = stopCause(link.code);
  return link.phase === "stopped" && (cause === "gone" || cause === "forbidden");
}

/** The hub's report that its store is available again; undefined without one. */
export function storeBack(link: Link): StoreStatus | undefined {
  return link.phase === "live" && link.store?.available === true ? link.store : undefined;
}

/** The number of events that a resumed connection delivered, once it has delivered all; 0 otherwise. */
export function caughtUp(link: Link): number {
  return link.phase === "live" && link.resumed && link.released ? link.caughtUp : 0;
}
