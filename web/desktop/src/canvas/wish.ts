// What a person wants of a window and the hub has not said yet. A wish is drawn instead of what the hub says until both
// are the same, until somebody else's change comes after it, or until the hub had time enough.

import type { Bounds, WindowState } from "../../../core/src/index.js";
import { sameBounds } from "./geometry.js";

export interface Place {
  readonly bounds: Bounds;
  readonly maximized: boolean;
}

export interface Wish {
  readonly place: Place;
  /** A pointer holds the window. */
  readonly held: boolean;
  /** What the hub was told so far: what comes back of it is no news. */
  readonly told: readonly Bounds[];
  /** Whether the window is maximised when the hub has done what it was told. */
  readonly toldMaximized: boolean;
  /** What the hub said last. */
  readonly seen: Bounds;
  /** When the hub was told the last place; 0 before that. */
  readonly since: number;
}

/** How long a wish waits for the hub. */
export const patience = 2000;
/** A drag of 10 places per second, with more time than any echo takes. */
const remembered = 64;

export function placeOf(w: WindowState): Place {
  return { bounds: w.bounds, maximized: w.maximized === true };
}

/** A wish for a window, or another one in the place of an older. */
export function wished(w: WindowState, before: Wish | undefined, place: Place, held: boolean): Wish {
  return {
    place,
    held,
    told: before?.told ?? [],
    toldMaximized: before?.toldMaximized ?? w.maximized === true,
    seen: before?.seen ?? w.bounds,
    since: 0,
  };
}

export interface Telling {
  /** The window must be maximised or restored. */
  readonly toggle: boolean;
  /** Where it must be: before it is maximised, or after it was restored. */
  readonly bounds?: Bounds;
}

/** What the hub has to be told for a wish, and the wish after that. */
export function tell(w: WindowState, wish: Wish, now: number): { telling: Telling; wish: Wish } {
  const { place, toldMaximized } = wish;
  const toggle = place.maximized !== toldMaximized;
  const told = [...wish.told];
  if (toggle && !place.maximized) told.push(w.restoreBounds ?? w.bounds);
  const known = told.at(-1) ?? w.bounds;
  const bounds = (toggle || !place.maximized) && !sameBounds(place.bounds, known) ? place.bounds : undefined;
  if (bounds !== undefined) told.push(bounds);
  return {
    telling: { toggle, ...(bounds === undefined ? {} : { bounds }) },
    wish: { ...wish, told: told.slice(-remembered), toldMaximized: place.maximized, since: wish.held ? 0 : now },
  };
}

/** What is left of a wish after the hub has said how the window is, or that it is gone. */
export function settled(w: WindowState | undefined, wish: Wish, now: number): Wish | undefined {
  if (w === undefined) return undefined;
  const news = !sameBounds(w.bounds, wish.seen);
  const next = news ? { ...wish, seen: w.bounds } : wish;
  if (wish.held) return next;
  if (agrees(w, wish.place)) return undefined;
  if (wish.since === 0) return next; // the hub does not know it yet
  if (news && !wish.told.some((b) => sameBounds(b, w.bounds))) return undefined;
  return now - wish.since >= patience ? undefined : next;
}

function agrees(w: WindowState, place: Place): boolean {
  return (w.maximized === true) === place.maximized && (place.maximized || sameBounds(w.bounds, place.bounds));
}
