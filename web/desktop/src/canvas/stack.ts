// Which windows are rendered, and their stacking order.

import { byZ, isStandard, type MonitorID, type WindowState, windowKey } from "../../../core/src/index.js";

type Windows = ReadonlyMap<string, WindowState>;

/**
 * The first z-index above all windows, for the snap preview, the raised window and panels. The hub gives each
 * window its z-index, from 1 to 2,097,151.
 */
export const aboveWindows = 4_194_304;

export function keyOf(w: WindowState): string {
  return windowKey(w.monitorId, w.windowId);
}

/** The focused window by the hub's rule: the topmost standard window that is not minimised. */
export function frontOf(windows: Iterable<WindowState>, monitor: MonitorID): WindowState | undefined {
  let front: WindowState | undefined;
  for (const w of windows) {
    if (w.monitorId !== monitor || !isStandard(w) || w.minimized) continue;
    if (front === undefined || byZ(w, front) > 0) front = w;
  }
  return front;
}

export function isVisible(w: WindowState, monitor: MonitorID): boolean {
  return w.monitorId === monitor && w.minimized !== true;
}

/** Whether no other window of its layer is above a window. */
export function isOnTop(windows: Iterable<WindowState>, w: WindowState): boolean {
  if (w.variant === "panel") return true;
  for (const o of windows) {
    if (o.monitorId !== w.monitorId || o.windowId === w.windowId || o.variant === "panel" || o.minimized) continue;
    if (isStandard(o) === isStandard(w) && byZ(o, w) > 0) return false;
  }
  return !w.minimized;
}

/**
 * The windows to keep in the document, always in the same order: an iframe that is moved in the document reloads.
 * Windows of other monitors stay if they have an iframe and their monitor was shown recently.
 */
export function mountedWindows(windows: Windows, shown: MonitorID, recent: readonly MonitorID[]): WindowState[] {
  const keep = (w: WindowState): boolean => w.monitorId === shown || (recent.includes(w.monitorId) && hasIframe(w));
  return [...windows.values()].filter(keep).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

function hasIframe(w: WindowState): boolean {
  return w.content.renderer === "iframe" || w.content.renderer === "html";
}

/** How many monitors, besides the shown one, keep their iframes in the document. */
const maxRecent = 2;

/** The list of recently shown monitors, newest first, after the user has changed from one monitor to another. */
export function recentMonitors(recent: readonly MonitorID[], from: MonitorID, to: MonitorID): readonly MonitorID[] {
  return [from, ...recent.filter((m) => m !== from)].filter((m) => m !== to).slice(0, maxRecent);
}

/** The windows to cycle through, from front to back. */
export function cycleOrder(windows: Iterable<WindowState>, monitor: MonitorID): string[] {
  return [...windows]
    .filter((w) => w.monitorId === monitor && isStandard(w) && !w.minimized)
    .sort((a, b) => byZ(b, a))
    .map(keyOf);
}

/** The panels of a monitor, in the order in which they are stacked at their edges. */
export function panelsOf(windows: Iterable<WindowState>, monitor: MonitorID): WindowState[] {
  return [...windows].filter((w) => w.monitorId === monitor && w.variant === "panel").sort((a, b) => (a.windowId < b.windowId ? -1 : 1));
}
