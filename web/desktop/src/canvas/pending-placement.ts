// What a person wants of a window and the hub has not said yet. A pending is drawn instead of what the hub says until both
// are the same, until somebody else's change comes after it, or until the hub had time enough.

import type { Bounds, WindowState } from "../../../core/src/index.js";
import { sameBounds } from "./geometry.js";

export interface Place {
  readonly bounds: Bounds;
  readonly maximized: boolean;
}

export interface PendingPlacement {
  readonly place: Place;
  /** A pointer holds the window. */
  readonly held: boolean;
  /** What the hub was told so far: what comes back of it is no news. */
  readonly sent: readonly Bounds[];
  /** Whether the window is maximised when the hub has done what it was told. */
  readonly sentMaximized: boolean;
  /** What the hub said last. */
  readonly seen: Bounds;
  /** When the hub was told the last place; 0 before that. */
  readonly since: number;
}

/** How long a pending waits for the hub. */
export const confirmTimeout = 2000;
/** A drag of 10 places per second, with more time than any echo takes. */
const maxSent = 64;

export function placeOf(w: WindowState): Place {
  return { bounds: w.bounds, maximized: w.maximized === true };
}

/** A pending for a window, or another one in the place of an older. */
export function newPlacement(w: WindowState, before: PendingPlacement | undefined, place: Place, held: boolean): PendingPlacement {
  return {
    place,
    held,
    sent: before?.sent ?? [],
    sentMaximized: before?.sentMaximized ?? w.maximized === true,
    seen: before?.seen ?? w.bounds,
    since: 0,
  };
}

export interface PlacementUpdate {
  /** The window must be maximised or restored. */
  readonly toggle: boolean;
  /** Where it must be: before it is maximised, or after it was restored. */
  readonly bounds?: Bounds;
}

/** What the hub has to be told for a pending, and the pending after that. */
export function planUpdate(w: WindowState, pending: PendingPlacement, now: number): { update: PlacementUpdate; pending: PendingPlacement } {
  const { place, sentMaximized: toldMaximized } = pending;
  const toggle = place.maximized !== toldMaximized;
  const told = [...pending.sent];
  if (toggle && !place.maximized) told.push(w.restoreBounds ?? w.bounds);
  const known = told.at(-1) ?? w.bounds;
  const bounds = (toggle || !place.maximized) && !sameBounds(place.bounds, known) ? place.bounds : undefined;
  if (bounds !== undefined) told.push(bounds);
  return {
    update: { toggle, ...(bounds === undefined ? {} : { bounds }) },
    pending: { ...pending, sent: told.slice(-maxSent), sentMaximized: place.maximized, since: pending.held ? 0 : now },
  };
}

/** What is left of a pending after the hub has said how the window is, or that it is gone. */
export function reconcile(w: WindowState | undefined, pending: PendingPlacement, now: number): PendingPlacement | undefined {
  if (w === undefined) return undefined;
  const news = !sameBounds(w.bounds, pending.seen);
  const next = news ? { ...pending, seen: w.bounds } : pending;
  if (pending.held) return next;
  if (agrees(w, pending.place)) return undefined;
  if (pending.since === 0) return next; // the hub does not know it yet
  if (news && !pending.sent.some((b) => sameBounds(b, w.bounds))) return undefined;
  return now - pending.since >= confirmTimeout ? undefined : next;
}

function agrees(w: WindowState, place: Place): boolean {
  return (w.maximized === true) === place.maximized && (place.maximized || sameBounds(w.bounds, place.bounds));
}
