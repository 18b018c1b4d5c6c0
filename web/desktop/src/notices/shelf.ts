// Which notices are on the page, and for how long.

import type { NoticeID, ShownNotification, ShownToast } from "../../../core/src/index.js";

/** How long things show when nothing else is said, in ms: as the hub has it. */
const usual = { toast: 5_000, notification: 8_000 };
/** The shortest and the longest that a person may be shown something. */
const least = 1_500;
const most = 60_000;

export function showFor(duration: number | undefined, kind: "toast" | "notification"): number {
  return Math.min(most, Math.max(least, duration || usual[kind]));
}

/** A notice that is shown again with the same id is another one. */
export function showingOf(n: { id: NoticeID; since?: number }): string {
  return `${n.id} ${n.since ?? 0}`;
}

/** How many are on the page at once; the newest. */
export const maxShown = 4;

/** The newest notices that are not over here, the newest last. */
export function onShelf<T extends { id: NoticeID; since?: number }>(all: Iterable<T>, gone: ReadonlySet<string>): T[] {
  return [...all]
    .filter((n) => !gone.has(showingOf(n)))
    .sort((a, b) => (a.since ?? 0) - (b.since ?? 0))
    .slice(-maxShown);
}

/** Toasts that were over before this page was there. `now` is the hub's time, half a minute is for guessing it. */
export function longOver(toasts: Iterable<ShownToast>, now: number): string[] {
  return [...toasts].filter((t) => (t.since ?? now) + showFor(t.duration, "toast") + 30_000 < now).map(showingOf);
}

/** The notifications for the centre, the newest first. */
export function newestFirst(all: Iterable<ShownNotification>): ShownNotification[] {
  return [...all].sort((a, b) => (b.since ?? 0) - (a.since ?? 0) || (a.id < b.id ? 1 : -1));
}

/** How many came after the centre was last looked at. */
export function unread(all: Iterable<ShownNotification>, readUntil: number): number {
  let n = 0;
  for (const one of all) if ((one.since ?? 0) > readUntil) n++;
  return n;
}

/** Up to when everything is read when all of these are. */
export function newestOf(all: Iterable<ShownNotification>): number {
  let newest = 0;
  for (const one of all) newest = Math.max(newest, one.since ?? 0);
  return newest;
}
