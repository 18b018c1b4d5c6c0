// Selectors that several parts of the page use.

import { useMemo } from "react";
import { byZ, compareMonitors, type DesktopState, type MonitorID, type MonitorStatus, shownMonitor, type WindowState } from "../../../core/src/index.js";
import type { Me } from "./api.js";
import { useShell } from "./context.js";
import type { Shell } from "./shell.js";

/** Whether a user has settings and models: invited devices and viewers have none, and the hub refuses their requests. */
export function hasAccount(me: Me): boolean {
  return me.session === undefined && me.roles.some((r) => r === "user" || r === "admin");
}

export function useHasAccount(): boolean {
  return useShell((s) => hasAccount(s.me));
}

/** Whether a user may say how the agents of the session work. While it is not known whose session it is, the hub decides. */
export function canDirectAgents({ me, ownSession }: Pick<Shell, "me" | "ownSession">): boolean {
  return hasAccount(me) && ownSession !== false;
}

/** The monitor this tab shows. */
export function useMonitor(): MonitorID {
  return useShell((s) => shownMonitor(s.view, s.desktop));
}

/** Whether this tab is pinned to a monitor that does not exist (any more). */
export function useMonitorGone(): boolean {
  return useShell(isMonitorGone);
}

export function isMonitorGone({ ready, view, desktop }: Pick<Shell, "ready" | "view" | "desktop">): boolean {
  return ready && view.pinned && !desktop.monitors.has(view.monitor);
}

export function useMonitors(): MonitorStatus[] {
  const monitors = useShell((s) => s.desktop.monitors);
  return useMemo(() => [...monitors.values()].sort((a, b) => compareMonitors(a.monitorId, b.monitorId)), [monitors]);
}

/** The windows of a monitor, from back to front. */
export function useWindows(monitor: MonitorID): WindowState[] {
  const windows = useShell((s) => s.desktop.windows);
  return useMemo(() => windowsOf({ windows }, monitor), [windows, monitor]);
}

export function windowsOf(desktop: Pick<DesktopState, "windows">, monitor: MonitorID): WindowState[] {
  return [...desktop.windows.values()].filter((w) => w.monitorId === monitor).sort(byZ);
}

/** The number of open questions on all monitors. */
export function useQuestionCount(): number {
  return useShell((s) => s.desktop.dialogs.size + s.desktop.prompts.size + s.desktop.requests.size);
}

/** The displayed number of a monitor, from 1. */
export function monitorNumber(id: MonitorID): number {
  const n = Number(/(\d+)$/.exec(id)?.[1] ?? "0");
  return Number.isFinite(n) ? n + 1 : 1;
}
