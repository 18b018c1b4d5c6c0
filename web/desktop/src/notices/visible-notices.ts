// Which notices are visible, and for how long.

import type { NoticeID, ShownNotification, ShownToast } from "../../../core/src/index.js";

/** The default durations, as in the hub, in ms. */
const defaultDurations = { toast: 5_000, notification: 8_000 };
/** The limits of a duration, in ms. */
const minDuration = 1_500;
const maxDuration = 60_000;

export function displayTime(duration: number | undefined, kind: "toast" | "notification"): number {
  return Math.min(maxDuration, Math.max(minDuration, duration || defaultDurations[kind]));
}

/** Identifies one display of a notice: a notice that is shown again with the same id is another one. */
export function showingKey(n: { id: NoticeID; since?: number }): string {
  return `${n.id} ${n.since ?? 0}`;
}

/** The maximum number of visible notices; the newest are shown. */
export const maxShown = 4;

/** The newest notices that were not hidden in this tab, the newest last. */
export function visibleNotices<T extends { id: NoticeID; since?: number }>(all: Iterable<T>, hidden: ReadonlySet<string>): T[] {
  return [...all]
    .filter((n) => !hidden.has(showingKey(n)))
    .sort((a, b) => (a.since ?? 0) - (b.since ?? 0))
    .slice(-maxShown);
}

/**
 * The toasts that expired before this page was loaded. `now` is the hub's time, with half a minute of tolerance for its
 * estimate.
 */
export function expiredToasts(toasts: Iterable<ShownToast>, now: number): string[] {
  return [...toasts].filter((t) => (t.since ?? now) + displayTime(t.duration, "toast") + 30_000 < now).map(showingKey);
}

/** The notifications for the centre, the newest first. */
export function newestFirst(all: Iterable<ShownNotification>): ShownNotification[] {
  return [...all].sort((a, b) => (b.since ?? 0) - (a.since ?? 0) || (a.id < b.id ? 1 : -1));
}

/** The number of notifications since the centre was last open. */
export function countUnread(all: Iterable<ShownNotification>, readUntil: number): number {
  let n = 0;
  for (const one of all) if ((one.since ?? 0) > readUntil) n++;
  return n;
}

/** The time of the newest notification; 0 without any. */
export function newestTime(all: Iterable<ShownNotification>): number {
  let newest = 0;
  for (const one of all) newest = Math.max(newest, one.since ?? 0);
  return newest;
}
