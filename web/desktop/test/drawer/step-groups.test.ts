import { describe, expect, test } from "vitest";
import type { UIRow } from "../../../core/src/index.js";
import { type Entry, entriesOf } from "../../src/drawer/entries.js";
import { groupSteps, type StepGroup, sameStepGroup, summaryOf } from "../../src/drawer/step-groups.js";

const role = "main-monitor-0-m1";

function tool(ts: number, more: object = {}, agentId = role): UIRow {
  const text = JSON.stringify({ tool: "window:update", status: "complete", ...more });
  return { ts, type: "say", say: "tool", text, agentId, messageId: "m1", monitorId: "monitor-0" };
}

function other(ts: number, say: "reasoning" | "text"): UIRow {
  return { ts, type: "say", say, text: "x", agentId: role, messageId: "m1", monitorId: "monitor-0" };
}

function entries(rows: UIRow[]): Entry[] {
  return entriesOf({ rows: new Map(rows.map((row) => [row.ts, { row, bytes: 0 }])), queues: new Map() }, [], "monitor-0");
}

const shape = (rows: UIRow[], working: string[] = []): (string | number)[] =>
  groupSteps(entries(rows), new Set(working)).map((e) => (e.kind === "steps" ? e.steps.length : e.kind));

describe("groupSteps", () => {
  test("few steps are not grouped", () => {
    expect(shape([tool(1), other(2, "reasoning"), tool(3), other(4, "text")])).toEqual(["tool", "thinking", "tool", "assistant"]);
  });

  test("many steps become one line, up to a text", () => {
    const rows = [1, 2, 3, 4].map((ts) => tool(ts));
    expect(shape([...rows, other(5, "reasoning"), other(6, "text"), tool(7)])).toEqual([5, "assistant", "tool"]);
  });

  test("steps of another agent are separate", () => {
    const rows = [1, 2, 3].map((ts) => tool(ts));
    expect(shape([...rows, tool(4, {}, "task-m1-1"), tool(5)])).toEqual(["tool", "tool", "tool", "tool", "tool"]);
  });

  test("the newest step of a working agent stays visible", () => {
    const rows = [1, 2, 3, 4, 5].map((ts) => tool(ts));
    expect(shape(rows, [role])).toEqual([4, "tool"]);
    expect(shape(rows.slice(0, 4), [role])).toEqual(["tool", "tool", "tool", "tool"]);
    expect(shape(rows)).toEqual([5]);
  });

  test("a growing group keeps its identity, and an unchanged group is not rendered again", () => {
    const rows = [1, 2, 3, 4, 5, 6].map((ts) => tool(ts));
    const run = (n: number): StepGroup => groupSteps(entries(rows.slice(0, n)), new Set())[0] as StepGroup;
    expect(run(5).key).toBe(run(6).key);
    expect(sameStepGroup(run(5), run(6))).toBe(false);
    expect(sameStepGroup(run(6), run(6))).toBe(true);
  });
});

test("a group has its actions, its duration and its failures", () => {
  const rows = [tool(1_000, { durationMs: 400 }), tool(1_500), tool(2_000, { tool: "http:get", status: "error" }), other(2_500, "reasoning")];
  const { actions, durationMs, failed } = summaryOf((groupSteps(entries(rows), new Set())[0] as StepGroup).steps);
  expect(actions.map((a) => a.kind), "a failed call did nothing").toEqual(["updated", "updated"]);
  expect(durationMs).toBe(1_900);
  expect(failed.map((f) => f.ts)).toEqual([2_000]);
});
