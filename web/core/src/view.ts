// What belongs to one tab and to nobody else: which monitor it shows, whether the conversation is open. It survives a
// reload in sessionStorage and never reaches the hub.

import type { Storage } from "./client.js";
import { type DesktopState, firstMonitor } from "./state.js";
import type { MonitorID } from "./wire.gen.js";

export interface View {
  /** The monitor that the user chose. */
  readonly monitor: MonitorID;
  /** The tab shows only this monitor, on a screen of its own. */
  readonly pinned: boolean;
  /** The conversation is open. */
  readonly drawer: boolean;
}

export type ViewInput = { type: "monitor"; monitor: MonitorID } | { type: "drawer"; open: boolean };

/** The view of a new page: what its address says, else what the page before it left. `drawer` is for who never chose. */
export function newView(query: URLSearchParams, kept: string | null, drawer = true): View {
  const view: View = { monitor: firstMonitor, pinned: false, drawer };
  const monitor = query.get("monitor");
  const before = read(kept);
  if (monitor !== null && isMonitorId(monitor)) return { ...view, ...before, monitor, pinned: true };
  return { ...view, ...before };
}

function read(kept: string | null): Partial<View> {
  try {
    const v = (JSON.parse(kept ?? "{}") ?? {}) as Record<string, unknown>;
    return {
      ...(typeof v.monitor === "string" && isMonitorId(v.monitor) ? { monitor: v.monitor } : {}),
      ...(typeof v.drawer === "boolean" ? { drawer: v.drawer } : {}),
    };
  } catch {
    return {};
  }
}

function isMonitorId(text: string): boolean {
  return /^[0-9A-Za-z_-]{1,64}$/.test(text);
}

export function changeView(view: View, input: ViewInput): View {
  switch (input.type) {
    case "monitor":
      return view.pinned || view.monitor === input.monitor ? view : { ...view, monitor: input.monitor };
    case "drawer":
      return view.drawer === input.open ? view : { ...view, drawer: input.open };
  }
}

/** Keeps a view for the page after this one. */
export function saveView(view: View, storage: Storage, key: string): void {
  try {
    storage.setItem(key, JSON.stringify({ monitor: view.monitor, drawer: view.drawer }));
  } catch {
    // The storage is full or forbidden: the next page begins as a new one.
  }
}

/** The monitor to show: the one that was chosen while it is there. A pinned one may still be made. */
export function shownMonitor(view: View, desktop: DesktopState): MonitorID {
  return view.pinned || desktop.monitors.has(view.monitor) ? view.monitor : firstMonitor;
}
