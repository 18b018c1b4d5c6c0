import { describe, expect, test } from "vitest";
import { durationsOf, flatten, itemsOf, stateOf, type TaskItem, treeOf, turnKey } from "../../src/history/tasks.js";

function task(number: number, parent?: number, more: Partial<TaskItem> = {}): TaskItem {
  const base = { id: `t${number}`, number, ts: number, task: `task ${number}`, tokensIn: 1, tokensOut: 1, costs: { own: 0, total: 0, unknown: false } };
  return { ...base, ...(parent === undefined ? {} : { parentTaskId: `t${parent}` }), ...more };
}

const shape = (items: TaskItem[]): [string, number][] => flatten(treeOf(items)).map((n) => [n.item.id, n.depth]);

describe("treeOf", () => {
  test("the newest roots first, subtasks in their order", () => {
    expect(shape([task(4), task(3, 1), task(2, 1), task(1), task(5, 3)])).toEqual([
      ["t4", 0],
      ["t1", 0],
      ["t2", 1],
      ["t3", 1],
      ["t5", 2],
    ]);
  });

  test("a task whose parent is not listed is a root", () => {
    expect(shape([task(2, 1)])).toEqual([["t2", 0]]);
  });

  test("tasks in a cycle are shown once each", () => {
    expect(shape([task(1, 2), task(2, 1), task(3, 3)]).map(([id]) => id).sort()).toEqual(["t1", "t2", "t3"]);
  });
});

test("the state of a task", () => {
  expect(stateOf(task(1, undefined, { status: "active" }))).toBe("active");
  expect(stateOf(task(1, undefined, { status: "delegated" }))).toBe("delegated");
  expect(stateOf(task(1, undefined, { status: "completed", outcome: "failed" }))).toBe("failed");
  expect(stateOf(task(1, undefined, { status: "completed", outcome: "completed" }))).toBe("completed");
  expect(stateOf(task(1))).toBe("completed");
});

test("invalid items are dropped, and missing values are zero", () => {
  expect(itemsOf(null)).toEqual([]);
  expect(itemsOf([null, "x", {}, { id: "t1" }])).toEqual([{ id: "t1", task: "", ts: 0, tokensIn: 0, tokensOut: 0, costs: { own: 0, total: 0, unknown: false } }]);
  expect(itemsOf([{ id: "t1", totalCost: 0.5, costs: { own: 0.5, children: 1, total: 1.5 } }])[0]!.costs).toMatchObject({ own: 0.5, total: 1.5 });
  expect(itemsOf([{ id: "t1", totalCost: 0.5 }])[0]!.costs).toEqual({ own: 0.5, total: 0.5, unknown: false });
  expect(itemsOf([{ id: "t1", costUnknown: true }])[0]!.costs).toEqual({ own: 0, total: 0, unknown: true });
  expect(itemsOf([{ id: "t1", costs: { own: 1, total: 2, unknown: true } }])[0]!.costs).toEqual({ own: 1, total: 2, unknown: true });
});

test("the duration is in the rows", () => {
  const row = { ts: 1, type: "say", say: "api_req_finished", text: JSON.stringify({ durationMs: 1_500 }), agentId: "a", messageId: "m" } as const;
  expect(durationsOf(new Map([[1, { row, bytes: 0 }]])).get(turnKey({ agentId: "a", messageId: "m" }))).toBe(1_500);
});
