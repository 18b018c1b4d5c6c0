// The view state of one tab: the shown monitor, whether the conversation is open. It survives a
// reload in sessionStorage and is never sent to the hub.

import type { Storage } from "./client.js";
import { type DesktopState, firstMonitor } from "./state.js";
import type { MonitorID } from "./wire.gen.js";

export interface View {
  /** The chosen monitor. */
  readonly monitor: MonitorID;
  /** Whether the tab shows only this monitor. */
  readonly pinned: boolean;
  /** Whether the conversation is open. */
  readonly drawer: boolean;
}

export type ViewInput = { type: "monitor"; monitor: MonitorID } | { type: "drawer"; open: boolean };

/** The view of a new page: from its address, else from the previous page. `drawer` is the default of users who never opened or closed the conversation. */
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

/** Stores a view for the next page in this tab. */
export function saveView(view: View, storage: Storage, key: string): void {
  try {
    storage.setItem(key, JSON.stringify({ monitor: view.monitor, drawer: view.drawer }));
  } catch {
    // The storage is full or forbidden: the next page starts with defaults.
  }
}

/** The monitor to show: the chosen one while it exists. A pinned monitor is shown even before it exists. */
export function shownMonitor(view: View, desktop: DesktopState): MonitorID {
  return view.pinned || desktop.monitors.has(view.monitor) ? view.monitor : firstMonitor;
}
