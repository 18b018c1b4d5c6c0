import { describe, expect, test } from "vitest";
import type { HITLRequest, Layer, PlanState, Todo, TodoStatus } from "../../../core/src/index.js";
import { etaOf } from "../../src/plan/eta.js";
import { actionsFor, countsOf, type Facts, isEnded, isUnderWay, partDone, phaseOf, resultOf, stepsOf } from "../../src/plan/facts.js";

const todo = (id: string, status: TodoStatus = "pending", more: Partial<Todo> = {}): Todo => ({ id, task: `do ${id}`, depends_on: [], status, ...more });
const plan = (more: Partial<PlanState> = {}): PlanState => ({ id: "p1", status: "executing", total_todos: 1, ...more });
const facts = (part: Partial<Facts> = {}): Facts => ({ plan: undefined, layer: undefined, todos: [], asks: [], ...part });

const review = { type: "hitl_plan_review", request_id: "hitl_1", plan_id: "p1", plan: { todos: [], dependency_graph: {} }, message: "", options: ["approve"], timeout_sec: 60 } as HITLRequest;
const approval = { type: "hitl_approval_request", request_id: "hitl_2", todo_id: "a", todo: todo("a"), reason: "dear", options: ["approve"], timeout_sec: 60 } as HITLRequest;

describe("phaseOf", () => {
  test.each<[string, Partial<Facts>]>([
    ["none", {}],
    ["understanding", { layer: "cognitive" }],
    ["planning", { layer: "planning" }],
    ["planning", { layer: "planning", plan: plan({ status: "pending_approval" }) }],
    ["review", { layer: "planning", plan: plan({ status: "pending_approval" }), asks: [review] }],
    ["running", { layer: "execution", plan: plan() }],
    ["paused", { layer: "execution", plan: plan({ status: "paused" }) }],
    ["answering", { layer: "response", plan: plan() }],
    ["done", { plan: plan({ status: "completed" }) }],
    ["failed", { plan: plan({ status: "failed" }) }],
    ["cancelled", { plan: plan({ status: "cancelled" }) }],
    ["cancelled", { plan: plan({ status: "rejected" }) }],
    ["cancelled", { plan: plan({ status: "failed", failed: { status: "cancelled", error: { code: "CANCELLED", message: "", recoverable: false } } }) }],
  ])("%s", (want, part) => {
    const phase = phaseOf(facts(part));
    expect(phase).toBe(want);
    expect(isUnderWay(phase)).toBe(!["none", "done", "failed", "cancelled"].includes(want));
    expect(isEnded(phase)).toBe(["done", "failed", "cancelled"].includes(want));
  });
});

describe("stepsOf", () => {
  const states = (part: Partial<Facts>): string => stepsOf(facts(part)).map((s) => s.state).join(" ");
  test.each<[string, Layer, string]>([
    ["the first", "cognitive", "now later later later"],
    ["the third", "execution", "done done now later"],
  ])("%s", (_, layer, want) => {
    expect(states({ layer, plan: plan() })).toBe(want);
  });
  test("an ended plan", () => {
    expect(states({ plan: plan({ status: "completed" }) })).toBe("done done done done");
    expect(states({ plan: plan({ status: "failed" }), todos: [todo("a", "failed")] })).toBe("done done stopped later");
    expect(states({ plan: plan({ status: "cancelled" }), todos: [todo("a", "cancelled")] })).toBe("done stopped later later");
    expect(states({ plan: plan({ status: "failed" }) })).toBe("done stopped later later");
  });
});

test("counts and progress", () => {
  const todos = [todo("a", "completed"), todo("b", "skipped"), todo("c", "in_progress", { progress_percentage: 50 }), todo("d"), todo("e", "needs_input")];
  expect(countsOf(todos)).toMatchObject({ total: 5, completed: 1, skipped: 1, running: 1, asking: 1, pending: 1, failed: 0 });
  expect(partDone(todos)).toBeCloseTo(2.5 / 5);
  expect(partDone([todo("a", "in_progress", { progress_percentage: 100 })]), "what runs is not done").toBeLessThan(1);
  expect(partDone([])).toBe(0);
});

describe("actionsFor", () => {
  const running = { plan: plan(), layer: "execution" as Layer, asks: [] };
  test.each<[TodoStatus, string[]]>([
    ["pending", ["skip"]],
    ["in_progress", ["skip"]],
    ["blocked", ["skip"]],
    ["failed", ["retry", "skip"]],
    ["completed", []],
    ["skipped", []],
    ["cancelled", []],
  ])("%s", (status, want) => {
    expect(actionsFor(todo("a", status), running)).toEqual(want);
  });
  test("a todo with a question can be answered", () => {
    expect(actionsFor(todo("a", "needs_approval"), { ...running, asks: [approval] })).toEqual(["answer", "skip"]);
    expect(actionsFor(todo("b", "needs_approval"), { ...running, asks: [approval] })).toEqual(["skip"]);
  });
  test("a todo that awaits a retry can be retried at once", () => {
    expect(actionsFor(todo("a", "pending", { retry_count: 1, retry_at: 5 }), running)).toEqual(["retry", "skip"]);
  });
  test("nothing in a plan that is not running, except a failed one", () => {
    expect(actionsFor(todo("a"), { ...running, layer: "planning", asks: [review] })).toEqual([]);
    expect(actionsFor(todo("a", "failed"), { ...running, plan: plan({ status: "cancelled" }) })).toEqual([]);
    expect(actionsFor(todo("a", "failed"), { ...running, plan: plan({ status: "failed" }) })).toEqual(["retry", "skip"]);
  });
});

test("results are shown as text or by name", () => {
  expect(resultOf(undefined)).toBeUndefined();
  expect(resultOf({})).toBeUndefined();
  expect(resultOf({ text: "done" })).toEqual({ text: "done" });
  expect(resultOf("done")).toEqual({ text: "done" });
  expect(resultOf([1])).toEqual({ text: "• 1" });
  expect(resultOf({ text: "x", n: 3 })).toEqual({ fields: [{ name: "text", value: "x" }, { name: "n", value: "3" }] });
});

describe("etaOf", () => {
  const s = 1000;
  test("is the longest path through the open todos", () => {
    const todos = [
      todo("a", "completed", { estimated_duration_sec: 100 }),
      todo("b", "pending", { estimated_duration_sec: 10, depends_on: ["a"] }),
      todo("c", "pending", { estimated_duration_sec: 30, depends_on: ["a"] }),
      todo("d", "pending", { estimated_duration_sec: 5, depends_on: ["b", "c"] }),
    ];
    expect(etaOf(todos, 0)).toEqual({ ms: 35 * s, reliable: true });
  });
  test("a running todo counts by its estimate, its time and its progress", () => {
    const at = (more: Partial<Todo>): number => etaOf([todo("a", "in_progress", { started_at: s, ...more })], 11 * s)!.ms;
    expect(at({ estimated_duration_sec: 40 })).toBe(30 * s);
    expect(at({ estimated_duration_sec: 5 })).toBe(0);
    expect(at({ progress_percentage: 50 })).toBe(10 * s);
    expect(at({ progress_percentage: 50, estimated_duration_sec: 40 })).toBe(15 * s);
  });
  test("waiting for a retry takes time, too", () => {
    expect(etaOf([todo("a", "pending", { retry_at: 4 * s, estimated_duration_sec: 3 })], s)!.ms).toBe(6 * s);
  });
  test("todos without an estimate take the average, and the result is not reliable", () => {
    expect(etaOf([todo("a", "completed", { duration_ms: 8 * s }), todo("b")], 0)).toEqual({ ms: 8 * s, reliable: false });
    expect(etaOf([todo("b")], 0)).toBeUndefined();
  });
  test("nothing remains when all todos are done, failed or blocked", () => {
    expect(etaOf([todo("a", "completed"), todo("b", "failed"), todo("c", "blocked")], 0)).toBeUndefined();
  });
  test("a cycle terminates", () => {
    expect(etaOf([todo("a", "pending", { depends_on: ["b"], estimated_duration_sec: 1 }), todo("b", "pending", { depends_on: ["a"], estimated_duration_sec: 1 })], 0)!.ms).toBe(2 * s);
  });
});
