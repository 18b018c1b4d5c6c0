import { expect, test } from "vitest";
import { emptyDesktop, type MonitorStatus, newView } from "../../../core/src/index.js";
import { isMonitorGone } from "../../src/shell/select.js";

test("a pinned tab detects that its monitor does not exist", () => {
  const pinned = newView(new URLSearchParams("monitor=monitor-1"), null);
  const there = { ...emptyDesktop(), monitors: new Map([["monitor-1", { monitorId: "monitor-1" } as MonitorStatus]]) };
  expect(isMonitorGone({ ready: true, view: pinned, desktop: there })).toBe(false);
  expect(isMonitorGone({ ready: true, view: pinned, desktop: emptyDesktop() })).toBe(true);
  expect(isMonitorGone({ ready: false, view: pinned, desktop: emptyDesktop() })).toBe(false);
  expect(isMonitorGone({ ready: true, view: newView(new URLSearchParams(), null), desktop: emptyDesktop() })).toBe(false);
});
