// Pending placements: bounds of a window that the user has set and the hub has not confirmed yet. The canvas draws the pending
// placement until the hub reports the same one, another client's change arrives, or confirmTimeout passes.

import type { Bounds, WindowState } from "../../../core/src/index.js";
import { sameBounds } from "./geometry.js";

export interface Place {
  readonly bounds: Bounds;
  readonly maximized: boolean;
}

export interface PendingPlacement {
  readonly place: Place;
  /** Whether the window is being dragged. */
  readonly held: boolean;
  /** The bounds sent to the hub so far. Their echoes are not changes of other clients. */
  readonly sent: readonly Bounds[];
  /** Whether the window is maximised once the hub has applied everything sent. */
  readonly sentMaximized: boolean;
  /** The last bounds from the hub. */
  readonly seen: Bounds;
  /** The time the final placement was sent; 0 before that. */
  readonly since: number;
}

/** How long a pending placement waits for the hub's confirmation, in ms. */
export const confirmTimeout = 2000;
/** The number of sent bounds that are kept: a drag at 10 per second for longer than any echo takes. */
const maxSent = 64;

export function placeOf(w: WindowState): Place {
  return { bounds: w.bounds, maximized: w.maximized === true };
}

/** Creates the pending placement of a window, or replaces an earlier one. */
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
  /** Whether to maximise or restore the window. */
  readonly toggle: boolean;
  /** The bounds to set before it is maximised or after it was restored. */
  readonly bounds?: Bounds;
}

/** The update to send to the hub for a pending placement, and the pending placement after sending it. */
export function planUpdate(w: WindowState, pending: PendingPlacement, now: number): { update: PlacementUpdate; pending: PendingPlacement } {
  const { place, sentMaximized } = pending;
  const toggle = place.maximized !== sentMaximized;
  const sent = [...pending.sent];
  if (toggle && !place.maximized) sent.push(w.restoreBounds ?? w.bounds);
  const known = sent.at(-1) ?? w.bounds;
  const bounds = (toggle || !place.maximized) && !sameBounds(place.bounds, known) ? place.bounds : undefined;
  if (bounds !== undefined) sent.push(bounds);
  return {
    update: { toggle, ...(bounds === undefined ? {} : { bounds }) },
    pending: { ...pending, sent: sent.slice(-maxSent), sentMaximized: place.maximized, since: pending.held ? 0 : now },
  };
}

/** The pending placement after a change of the window from the hub; undefined once it is confirmed, overridden or expired. */
export function reconcile(w: WindowState | undefined, pending: PendingPlacement, now: number): PendingPlacement | undefined {
  if (w === undefined) return undefined;
  const changed = !sameBounds(w.bounds, pending.seen);
  const next = changed ? { ...pending, seen: w.bounds } : pending;
  if (pending.held) return next;
  const { place, sent, since } = pending;
  // What was sent after this place was reached before is still on its way to the hub, and would move the window away again.
  const superseded = since === 0 && sent.length > 0 && !sameBounds(sent.at(-1)!, place.bounds);
  if (agrees(w, place) && !superseded) return undefined;
  if (since === 0) return next; // not sent yet
  if (changed && !pending.sent.some((b) => sameBounds(b, w.bounds))) return undefined;
  return now - pending.since >= confirmTimeout ? undefined : next;
}

function agrees(w: WindowState, place: Place): boolean {
  return (w.maximized === true) === place.maximized && (place.maximized || sameBounds(w.bounds, place.bounds));
}
