import { expect, test } from "vitest";
import { emptyDesk, type MonitorStatus, newView } from "../../../core/src/index.js";
import { isMonitorGone } from "../../src/shell/select.js";

test("a tab for one monitor knows when that one is not there", () => {
  const pinned = newView(new URLSearchParams("monitor=monitor-1"), null);
  const there = { ...emptyDesk(), monitors: new Map([["monitor-1", { monitorId: "monitor-1" } as MonitorStatus]]) };
  expect(isMonitorGone({ ready: true, view: pinned, desk: there })).toBe(false);
  expect(isMonitorGone({ ready: true, view: pinned, desk: emptyDesk() })).toBe(true);
  expect(isMonitorGone({ ready: false, view: pinned, desk: emptyDesk() })).toBe(false);
  expect(isMonitorGone({ ready: true, view: newView(new URLSearchParams(), null), desk: emptyDesk() })).toBe(false);
});
