import { expect, test } from "vitest";
import type { Agent, WindowState } from "../../../core/src/index.js";
import { doingOf, isAsking, kindOf, kindOfRole, nameOf, planTodo, quietFor, windowOfRole, workingAgents } from "../../src/dock/agents.js";
import { fitting } from "../../src/dock/fitting.js";

function agent(part: Partial<Agent>): Agent {
  return { role: "main-monitor-0-m1", kind: "main", monitorId: "monitor-0", status: "running", text: "", thinking: "", textBytes: 0, thinkingBytes: 0, ...part };
}

const windows = new Map([["monitor-0/w1", { windowId: "w1", monitorId: "monitor-0", title: "Weather" } as WindowState]]);

const desktop = { windows, todos: new Map([["fetch", { id: "fetch", task: "Fetch the list", depends_on: [] }]]) };

test("agents have readable names", () => {
  expect(nameOf(agent({ monitorId: "monitor-1" }), desktop)).toEqual({ kind: "main", monitor: 2 });
  expect(nameOf(agent({ kind: "window", role: "window-w1/act-2" }), desktop)).toEqual({ kind: "window", title: "Weather" });
  expect(nameOf(agent({ kind: "window", role: "window-gone" }), desktop)).toEqual({ kind: "window", title: undefined });
  expect(nameOf(agent({ kind: "task", role: "task-m1-3" }), desktop)).toEqual({ kind: "task", number: 3 });
  expect(nameOf(agent({ kind: "task", role: "task-m1-3/2" }), desktop)).toEqual({ kind: "task", number: 3 });
  expect(nameOf(agent({ kind: "ephemeral" }), desktop)).toEqual({ kind: "ephemeral" });
});

test("agents of plans are named after their todos", () => {
  const named = (role: string): object => nameOf(agent({ role }), desktop);
  expect(named("plan-1")).toEqual({ kind: "plan", task: "" });
  expect(named("plan-1/fetch.2")).toEqual({ kind: "plan", task: "Fetch the list" });
  expect(named("plan-1/planning.1")).toEqual({ kind: "plan", task: "" });
  expect([planTodo("plan-1"), planTodo("plan-2/a.b.12"), planTodo("plan-2/a.1/2"), planTodo("planner"), planTodo("main-plan-1")]).toEqual(["", "a.b", "a", undefined, undefined]);
  expect(kindOf(agent({ role: "plan-1/fetch.2" }))).toBe("task");
  expect(kindOfRole("plan-1")).toBe("task");
  expect(workingAgents(new Map([["plan-1", agent({ role: "plan-1" })], ["plan-1/a.1", agent({ role: "plan-1/a.1" })]])).map((a) => a.role)).toEqual(["plan-1/a.1"]);
});

test("a role determines the kind of an agent", () => {
  expect(kindOfRole("main-monitor-0-m1")).toBe("main");
  expect(kindOfRole("window-note/action-3")).toBe("window");
  expect(kindOfRole("task-m1-1")).toBe("task");
  expect(kindOfRole("ephemeral-7")).toBe("ephemeral");
  expect(kindOfRole("mainly")).toBeUndefined();
  expect(kindOfRole("")).toBeUndefined();
});

test("the activity of an agent", () => {
  expect(doingOf(agent({ tool: "window:create", text: "x" }))).toEqual({ what: "tool", tool: "window:create", progress: "" });
  expect(doingOf(agent({ tool: "mcp__x__y", toolProgress: "1 of 2" }))).toEqual({ what: "tool", tool: "mcp__x__y", progress: "1 of 2" });
  expect(doingOf(agent({ status: "waiting" })).what).toBe("waiting");
  expect(doingOf(agent({ text: "x", thinking: "y" })).what).toBe("writing");
  expect(doingOf(agent({ thinking: "y" })).what).toBe("thinking");
  expect(doingOf(agent({})).what).toBe("working");
  expect(doingOf(agent({ tool: "user:ask" }), true).what).toBe("waiting");
});

test("idle agents are left out, and the oldest is first", () => {
  const list = [agent({ role: "b", startedAt: 2 }), agent({ role: "a", startedAt: 2 }), agent({ role: "c", startedAt: 1 }), agent({ role: "d", status: "idle" })];
  expect(workingAgents(new Map(list.map((a) => [a.role, a]))).map((a) => a.role)).toEqual(["c", "a", "b"]);
});

test("an agent asks while its question is open", () => {
  const prompts = new Map([["p1", { id: "p1", title: "", message: "", agentId: "a" }]]);
  expect(isAsking({ dialogs: new Map(), prompts }, "a")).toBe(true);
  expect(isAsking({ dialogs: new Map(), prompts }, "b")).toBe(false);
});

test("silence is reported after twenty seconds", () => {
  expect(quietFor(1000, 21_000)).toBeUndefined();
  expect(quietFor(1000, 25_000)).toBe(24_000);
});

test("the window of a role", () => {
  expect(windowOfRole("window-a-b/c")).toBe("a-b");
  expect(windowOfRole("main-monitor-0-m")).toBeUndefined();
  expect(windowOfRole(undefined)).toBeUndefined();
});

test("as many pills as fit, with space for the button of the others", () => {
  expect(fitting(400, 100, 50, 4)).toBe(4);
  expect(fitting(399, 100, 50, 4)).toBe(3);
  expect(fitting(120, 100, 50, 4)).toBe(0);
  expect(fitting(0, 100, 50, 0)).toBe(0);
});
