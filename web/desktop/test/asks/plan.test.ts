import { describe, expect, test } from "vitest";
import type { HITLRequest, Outbox, Sent, Todo } from "../../../core/src/index.js";
import { answerState, endingOf, fromHITLClosed } from "../../src/asks/answers.js";
import { titleOf } from "../../src/asks/facts.js";
import { type Ask, asksOf, deadlineOf, planKey, timeLeft, versionOf } from "../../src/asks/order.js";
import { type Entry, initialEntry, parseEntry, timeoutOutcome, type ValueRequest } from "../../src/asks/value.js";
import { asks as texts } from "../../src/texts/asks.js";

const todo: Todo = { id: "a", task: "Delete\u200B all", depends_on: [] };
const review = { type: "hitl_plan_review", request_id: "hitl_1", plan_id: "p", plan: { todos: [todo], dependency_graph: {} }, message: "Look", options: ["approve", "modify", "reject"], timeout_sec: 60, expires_at: 61_000 } as HITLRequest;
const approval = { type: "hitl_approval_request", request_id: "hitl_2", todo_id: "a", todo, reason: "dear", options: ["approve", "skip", "reject"], timeout_sec: 10, expires_at: 20_000 } as HITLRequest;
const input = (more: object = {}): ValueRequest =>
  ({ type: "hitl_input_request", request_id: "hitl_3", field: "f", question: "Which?", input_type: "text", required: true, timeout_sec: 10, expires_at: 30_000, ...more }) as ValueRequest;
const clarification = (required: boolean): ValueRequest =>
  ({ type: "hitl_clarification", request_id: "hitl_4", original_input: "x", question: "What?", input_type: "text", required, timeout_sec: 10 }) as ValueRequest;

const asksIn = (...requests: HITLRequest[]): Ask[] => asksOf({ dialogs: new Map(), prompts: new Map(), requests: new Map(requests.map((r) => [r.request_id, r])) });

describe("questions of the plan work like others", () => {
  test("the earliest deadline first", () => {
    const asks = asksIn(review, approval, input(), clarification(true));
    expect(asks.map((a) => a.key)).toEqual(["plan/hitl_2", "plan/hitl_3", "plan/hitl_1", "plan/hitl_4"]);
    expect(deadlineOf(asks[0]!)).toBe(20_000);
    expect(deadlineOf(asks[3]!)).toBe(Infinity);
    expect(timeLeft(asks[0]!, 15_000)).toEqual({ ms: 5_000, part: 0.5 });
    expect(planKey(review)).toBe("plan/hitl_1");
  });

  test("a question that is asked again with another deadline is the same version", () => {
    const [one, later, other] = [review, { ...review, expires_at: 99_000, timeout_sec: 9 }, { ...review, message: "Look again" }].map((r) => versionOf(asksIn(r as HITLRequest)[0]!));
    expect(later).toBe(one);
    expect(other).not.toBe(one);
  });

  test("the title is the question, with nothing hidden", () => {
    const title = (request: HITLRequest): string => titleOf({ request }, texts.en);
    expect(title(review)).toBe("Review the plan");
    expect(title(approval)).toBe("May this task run? Delete[U+200B] all");
    expect(title(input())).toBe("Which?");
  });

  test("the state of this tab's answer, and an answer from elsewhere", () => {
    const ask = asksIn(input())[0]!;
    const sent = (part: Partial<Sent>): Sent => ({ id: "m1", type: "hitl_input_response", data: { request_id: "hitl_3", value: 1 }, since: 0, written: 1, again: false, waits: 0, status: "sending", ...part }) as Sent;
    const outbox = (...items: Sent[]): Pick<Outbox, "items"> => ({ items });
    expect(answerState(outbox(sent({})), ask)).toEqual({ state: "sending" });
    expect(answerState(outbox(sent({ status: "rejected", code: 5002, reason: "want a text", field: "value" })), ask)).toEqual({ state: "refused", reason: "want a text", code: 5002, field: "value" });
    const closed = fromHITLClosed({ request_id: "hitl_3", reason: "answered", answered_by: "c2", messageId: "m9" });
    const witness = { outbox: outbox(), presence: [], user: "me", now: 0 };
    expect(endingOf(ask, closed, witness)).toEqual({ how: "otherTab" });
    expect(endingOf(ask, closed, { ...witness, outbox: outbox(sent({})) })).toEqual({ how: "lost", user: "" });
    expect(endingOf(ask, { ...closed, messageId: "m1" }, { ...witness, outbox: outbox(sent({})) })).toBeUndefined();
    expect(endingOf(ask, fromHITLClosed({ request_id: "hitl_3", reason: "expired" }), witness)).toEqual({ how: "expired" });
  });
});

describe("parseEntry", () => {
  const entry = (part: Partial<Entry> = {}): Entry => ({ text: "", end: "", chosen: [], ...part });
  test.each<[string, object, Partial<Entry>, object]>([
    ["text", {}, { text: " hello " }, { value: "hello" }],
    ["text", {}, { text: "  " }, { problem: "empty" }],
    ["text", { required: false }, {}, { value: null }],
    ["choice", {}, { chosen: ["b"] }, { value: "b" }],
    ["choice", {}, {}, { problem: "empty" }],
    ["multi", {}, { chosen: ["a", "b"] }, { value: ["a", "b"] }],
    ["multi", {}, {}, { problem: "empty" }],
    ["multi", { required: false }, {}, { value: [] }],
    ["number", {}, { text: "1,5" }, { value: 1.5 }],
    ["number", {}, { text: "many" }, { problem: "notNumber" }],
    ["number", { min: 2 }, { text: "1" }, { problem: "low" }],
    ["number", { max: 2 }, { text: "3" }, { problem: "high" }],
    ["number", { min: 2, max: 2 }, { text: "2" }, { value: 2 }],
    ["date", {}, { text: "2026-02-06" }, { value: "2026-02-06" }],
    ["date", {}, { text: "2026-02-30" }, { problem: "notDate" }],
    ["date", { range: true }, { text: "2026-02-06", end: "2026-02-28" }, { value: { from: "2026-02-06", to: "2026-02-28" } }],
    ["date", { range: true }, { text: "2026-02-06" }, { problem: "notDate" }],
    ["date", { range: true }, { text: "2026-02-06", end: "2026-02-01" }, { problem: "backwards" }],
    ["date", { range: true }, {}, { problem: "empty" }],
    ["confirm", {}, { text: "true" }, { value: true }],
    ["confirm", {}, {}, { problem: "empty" }],
  ])("%s %j with %j", (input_type, more, fields, want) => {
    expect(parseEntry(input({ input_type, ...more }), entry(fields))).toEqual(want);
  });

  test("the initial entry is the default value, which is a valid answer", () => {
    for (const [input_type, default_value, more] of [
      ["text", "x", {}],
      ["choice", "b", {}],
      ["multi", ["a"], {}],
      ["number", 3, {}],
      ["date", "2026-02-06", {}],
      ["date", { from: "2026-02-06", to: "2026-02-07" }, { range: true }],
      ["confirm", false, {}],
    ] as const) {
      const request = input({ input_type, default_value, ...more });
      expect(parseEntry(request, initialEntry(request)), input_type).toEqual({ value: default_value });
    }
    expect(initialEntry(clarification(true))).toEqual(entry());
  });
});

test("the outcome of a timeout", () => {
  expect(timeoutOutcome(review)).toEqual({ what: "plan" });
  expect(timeoutOutcome(approval)).toEqual({ what: "todo" });
  expect(timeoutOutcome(clarification(true))).toEqual({ what: "plan" });
  expect(timeoutOutcome(clarification(false))).toEqual({ what: "on" });
  expect(timeoutOutcome(input())).toEqual({ what: "todo" });
  expect(timeoutOutcome(input({ required: false }))).toEqual({ what: "on" });
  expect(timeoutOutcome(input({ default_value: ["a"], options: [{ value: "a", label: "The first" }] }))).toEqual({ what: "default", value: "The first" });
  expect(timeoutOutcome(input({ default_value: { from: "2026-01-01", to: "2026-02-01" } }))).toEqual({ what: "default", value: "2026-01-01 – 2026-02-01" });
});
