// Which windows there are to draw, and which lies above which.

import { byZ, isStandard, type MonitorID, type WindowState, windowKey } from "../../../core/src/index.js";

type Windows = ReadonlyMap<string, WindowState>;

/** Above all z of windows: the preview of a snap, the window in hand, panels. */
export const above = 1 << 22;

export function keyOf(w: WindowState): string {
  return windowKey(w.monitorId, w.windowId);
}

/** The window that has the focus, by the hub's rule: the standard one in front that is not minimised. */
export function frontOf(windows: Iterable<WindowState>, monitor: MonitorID): WindowState | undefined {
  let front: WindowState | undefined;
  for (const w of windows) {
    if (w.monitorId !== monitor || !isStandard(w) || w.minimized) continue;
    if (front === undefined || byZ(w, front) > 0) front = w;
  }
  return front;
}

/** Whether a window is on the monitor that is shown, and not minimised. */
export function isSeen(w: WindowState, monitor: MonitorID): boolean {
  return w.monitorId === monitor && w.minimized !== true;
}

/** Whether nothing of its layer lies above a window. */
export function isOnTop(windows: Iterable<WindowState>, w: WindowState): boolean {
  if (w.variant === "panel") return true;
  for (const o of windows) {
    if (o.monitorId !== w.monitorId || o.windowId === w.windowId || o.variant === "panel" || o.minimized) continue;
    if (isStandard(o) === isStandard(w) && byZ(o, w) > 0) return false;
  }
  return !w.minimized;
}

/**
 * The windows to keep on the page, always in the same order: a page that is moved in the document begins anew. Those of
 * other monitors stay as long as a page lives in them and their monitor was shown not long ago.
 */
export function mounted(windows: Windows, shown: MonitorID, recent: readonly MonitorID[]): WindowState[] {
  const keep = (w: WindowState): boolean => w.monitorId === shown || (recent.includes(w.monitorId) && holdsPage(w));
  return [...windows.values()].filter(keep).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

function holdsPage(w: WindowState): boolean {
  return w.content.renderer === "iframe" || w.content.renderer === "html";
}

const mostRecent = 2;

/** The monitors that were shown before this one, the newest first. */
export function recentAfter(recent: readonly MonitorID[], left: MonitorID, now: MonitorID): readonly MonitorID[] {
  return [left, ...recent.filter((m) => m !== left)].filter((m) => m !== now).slice(0, mostRecent);
}

/** The windows to walk through, from the front to the back. */
export function cycleOf(windows: Iterable<WindowState>, monitor: MonitorID): string[] {
  return [...windows]
    .filter((w) => w.monitorId === monitor && isStandard(w) && !w.minimized)
    .sort((a, b) => byZ(b, a))
    .map(keyOf);
}

/** The panels of a monitor, in the order in which they lie at their edges. */
export function panelsOf(windows: Iterable<WindowState>, monitor: MonitorID): WindowState[] {
  return [...windows].filter((w) => w.monitorId === monitor && w.variant === "panel").sort((a, b) => (a.windowId < b.windowId ? -1 : 1));
}
