// What the link chip shows, from what the connection and the browser know. The link is not the agents: it says nothing of
// whether somebody works.

import { isStoreUnavailable, type Link, type StoreStatus } from "../../../core/src/index.js";

export type ChipState = "live" | "storeless" | "connecting" | "reconnecting" | "offline" | "stopped";

/** Why there is no connection until a person does something. */
export type StopCause = "signIn" | "forbidden" | "gone" | "misused" | "ended";

export interface Chip {
  readonly state: ChipState;
  /** There is nothing to worry about: a dot without words. */
  readonly quiet: boolean;
  /** Whole seconds until the next try; 0 while one is under way. */
  readonly retryIn: number;
  /** In state stopped. */
  readonly cause?: StopCause;
}

/** A connection may be away for so long before anybody is told. */
export const quietFor = 3_000;

/** How long it is said that all is well again. */
export const goodFor = 2_000;

/** The chip for a link. `online` is what the browser says of the network. */
export function chipOf(link: Link, online: boolean, now: number): Chip {
  // The hub is there and says so itself, so this is no lost connection, and there is nothing to try again.
  if (isStoreUnavailable(link)) return { state: "storeless", quiet: false, retryIn: 0 };
  if (link.phase === "live") return { state: "live", quiet: true, retryIn: 0 };
  if (link.phase === "stopped") return { state: "stopped", quiet: false, retryIn: 0, cause: stopCause(link.code) };
  const retryIn = link.phase === "waiting" ? Math.max(0, Math.ceil((link.retryAt - now) / 1000)) : 0;
  // A first connection is worth a word at once, a short break is not.
  const first = link.stats.connections === 0;
  const away = link.downSince > 0 ? now - link.downSince : 0;
  if (!online && (first || away >= quietFor)) return { state: "offline", quiet: false, retryIn };
  if (away >= quietFor) return { state: "reconnecting", quiet: false, retryIn };
  return { state: "connecting", quiet: !first, retryIn };
}

export function stopCause(code: number): StopCause {
  switch (code) {
    case 4401:
    case 4411:
      return "signIn";
    case 4403:
      return "forbidden";
    case 4404:
    case 4410:
      return "gone";
    case 4400:
      return "misused";
    default:
      return "ended";
  }
}

/** Whether the session will never take a word from this tab again: it is gone, or not for this person. */
export function isOver(link: Pick<Link, "phase" | "code">): boolean {
  const cause = stopCause(link.code);
  return link.phase === "stopped" && (cause === "gone" || cause === "forbidden");
}

/** What the hub said when it reached its store again; undefined when there is nothing to tell. */
export function storeBack(link: Link): StoreStatus | undefined {
  return link.phase === "live" && link.store?.available === true ? link.store : undefined;
}

/** How many events a resumed connection brought, once all of them are there; 0 when there is nothing to tell. */
export function caughtUp(link: Link): number {
  return link.phase === "live" && link.resumed && link.released ? link.caughtUp : 0;
}
