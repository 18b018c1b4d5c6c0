import { describe, expect, test } from "vitest";
import type { MonitorStatus } from "../../../core/src/index.js";
import { condenseBlocker, meterOf, shortTokens } from "../../src/history/meter.js";

describe("meterOf", () => {
  test.each([
    [{ tokens: 12_000, window: 100_000 }, { percent: 12, state: "calm" }],
    [{ tokens: 70_000, window: 100_000 }, { percent: 70, state: "near" }],
    [{ tokens: 95_000, window: 100_000 }, { percent: 95, state: "over" }],
    [{ tokens: 150_000, window: 100_000 }, { percent: 150, part: 1, state: "over" }],
    [{ tokens: 500 }, { part: 0, state: "unknown" }],
    [{ tokens: 0, window: 100, condensing: true }, { condensing: true }],
  ])("%o", (use, want) => {
    expect(meterOf(use)).toMatchObject(want);
  });

  test("undefined without data", () => {
    expect(meterOf(undefined)).toBeUndefined();
    expect(meterOf({ tokens: 0, window: 100 })).toBeUndefined();
  });
});

test.each([
  [0, "0"],
  [950, "950"],
  [1_000, "1k"],
  [1_240, "1.2k"],
  [9_960, "10k"],
  [123_456, "123k"],
  [999_600, "1M"],
  [1_250_000, "1.3M"],
])("%i tokens are %s", (n, want) => {
  expect(shortTokens(n)).toBe(want);
});

describe("condensing", () => {
  const status = (part: Partial<MonitorStatus> = {}): MonitorStatus => ({ monitorId: "monitor-0", state: "idle", queue: 0, context: { tokens: 10, window: 100 }, ...part });
  const free = { live: true, status: status(), agents: new Map(), asked: false };
  const agent = (kind: "main" | "task", monitorId: string, state: "thinking" | "idle") => new Map([["a", { kind, monitorId, status: state }]]) as never;

  test("is possible when nothing prevents it", () => {
    expect(condenseBlocker("monitor-0", free)).toBeUndefined();
    expect(condenseBlocker("monitor-0", { ...free, agents: agent("main", "monitor-1", "thinking") })).toBeUndefined();
    expect(condenseBlocker("monitor-0", { ...free, agents: agent("main", "monitor-0", "idle") })).toBeUndefined();
  });

  test("names the reason otherwise", () => {
    expect(condenseBlocker("monitor-0", { ...free, live: false })).toBe("offline");
    expect(condenseBlocker("monitor-0", { ...free, asked: true })).toBe("condensing");
    expect(condenseBlocker("monitor-0", { ...free, status: status({ context: { tokens: 1, condensing: true } }) })).toBe("condensing");
    expect(condenseBlocker("monitor-0", { ...free, status: undefined })).toBe("empty");
    expect(condenseBlocker("monitor-0", { ...free, agents: agent("main", "monitor-0", "thinking") })).toBe("busy");
  });
});
