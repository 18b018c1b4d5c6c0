import { expect, test } from "vitest";
import type { Agent, Budget } from "../../../core/src/index.js";
import { activityOf, budgetPart, budgetTone, providerName, tabAfter, workingMonitors } from "../../src/topbar/monitors.js";

const budget: Budget = { actions: 0, actionsLimit: 30, output: 0, outputLimit: 50_000, running: 0, runningLimit: 2 };
const agent = (part: Partial<Agent>): Agent => ({ role: "a", kind: "main", status: "running", text: "", thinking: "", textBytes: 0, thinkingBytes: 0, ...part });

test("monitors work where agents do", () => {
  const agents = [agent({ monitorId: "monitor-1" }), agent({ monitorId: "monitor-2", status: "idle" }), agent({})];
  expect(workingMonitors(agents)).toEqual(new Set(["monitor-1"]));
});

test.each([
  [{ state: "idle", queue: 0 }, false, "idle"],
  [{ state: "idle", queue: 0 }, true, "working"],
  [{ state: "running", queue: 0 }, false, "working"],
  [{ state: "idle", queue: 2 }, false, "waiting"],
  [{ state: "waiting", queue: 0 }, false, "waiting"],
  [{ state: "over_budget", queue: 1 }, true, "overBudget"],
  [{ state: "running", queue: 0, budget: { ...budget, denied: "actions" } }, true, "overBudget"],
] as const)("%j with an agent %s is %s", (status, busy, activity) => {
  const monitorId = "monitor-1";
  expect(activityOf({ ...status, monitorId }, new Set(busy ? [monitorId] : []))).toBe(activity);
});

test("a budget is as full as its fullest part", () => {
  expect(budgetPart(budget)).toBe(0);
  expect(budgetPart({ ...budget, actions: 15, output: 5_000 })).toBe(0.5);
  expect(budgetPart({ ...budget, output: 99_999 })).toBe(1);
  expect(budgetPart({ ...budget, running: 2 })).toBe(0);
  expect(budgetPart({ ...budget, denied: "slots" })).toBe(1);
  expect(budgetPart({ ...budget, actionsLimit: 0, actions: 5 })).toBe(0);
});

test("a budget warns before it is used up", () => {
  expect(budgetTone({ ...budget, actions: 23 })).toBe("accent");
  expect(budgetTone({ ...budget, actions: 24 })).toBe("warning");
  expect(budgetTone({ ...budget, denied: "output" })).toBe("danger");
});

test("arrow keys wrap around the tabs", () => {
  const all = ["a", "b", "c"];
  expect(tabAfter(all, "c", "ArrowRight")).toBe("a");
  expect(tabAfter(all, "a", "ArrowLeft")).toBe("c");
  expect(tabAfter(all, "b", "Home")).toBe("a");
  expect(tabAfter(all, "b", "End")).toBe("c");
  expect(tabAfter(all, "b", "x")).toBeUndefined();
});

test("unknown providers keep their name", () => {
  expect(providerName("openai")).toBe("OpenAI");
  expect(providerName("house-model")).toBe("house-model");
});
