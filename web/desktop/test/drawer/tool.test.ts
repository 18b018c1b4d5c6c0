import { expect, test } from "vitest";
import type { UIRow } from "../../../core/src/index.js";
import { interruptionReason, parseQuestion, parseToolCall, parseTurnEnd, remedyOf, summarizeInput } from "../../src/drawer/tool.js";

function row(text: unknown): UIRow {
  return { ts: 1, type: "say", say: "tool", text: typeof text === "string" ? text : JSON.stringify(text) };
}

test("a tool call is summarized in one line", () => {
  const call = parseToolCall(row({ id: "t1", tool: "window:create", status: "complete", input: { windowId: "w", title: "Weather" }, result: "ok", durationMs: 12 }));
  expect(call).toMatchObject({ tool: "window:create", failed: false, about: "Weather", result: "ok", durationMs: 12 });
  expect(call.input).toContain('"title": "Weather"');
});

test("a summary has one line and a bounded length", () => {
  expect(summarizeInput({ content: "a\n\nb" })).toBe("a b");
  expect(summarizeInput("x".repeat(500)).length).toBe(160);
  expect(summarizeInput({ n: 1, other: "this" })).toBe("this");
  expect(summarizeInput(undefined)).toBe("");
  expect(summarizeInput([1, 2])).toBe("");
});

test("JSON results are formatted on several lines", () => {
  expect(parseToolCall(row({ tool: "t", status: "error", result: '{"a":1}' }))).toMatchObject({ failed: true, result: '{\n  "a": 1\n}', input: "", durationMs: undefined });
  expect(parseToolCall(row({ tool: "t", result: "[not json" })).result).toBe("[not json");
});

test.each(["", "null", "[]", "not json", "{}", '"text"'])("a tool row with %j is shown unchanged", (text) => {
  expect(parseToolCall(row(text))).toMatchObject({ tool: "", result: text });
});

test("the end of a turn has only known values", () => {
  expect(parseTurnEnd(row({ outcome: "completed", durationMs: 1234, inputTokens: 5, outputTokens: 7, cacheReads: 9, costUsd: 0.01 }))).toEqual({
    outcome: "completed",
    durationMs: 1234,
    inputTokens: 5,
    outputTokens: 7,
    cached: 9,
    costUsd: 0.01,
    costUnknown: false,
    reason: "",
  });
  expect(parseTurnEnd(row({ outcome: "interrupted", durationMs: 1, reason: "stopped" }))).toMatchObject({ outcome: "interrupted", reason: "stopped", inputTokens: 0 });
  expect(parseTurnEnd(row("broken"))).toMatchObject({ outcome: "completed", durationMs: 0 });
});

test.each([
  ["auth: the key is wrong", 0, "connect"],
  ["anthropic: auth: the key is wrong", 0, "connect"],
  ["rate: slow down", 0, "wait"],
  ["overloaded: busy", 0, "wait"],
  ["context_length: 200000 tokens", 0, "shorten"],
  ["no agent is available in this session", 4005, "connect"],
  ["Too many messages are waiting.", 3004, "wait"],
  ["The message is too large.", 1005, "shorten"],
  ["HTTP 429 from upstream", 0, "wait"],
  ["the disk caught fire", 0, "again"],
  ["", 0, "again"],
] as const)("%s (%i) → %s", (reason, code, remedy) => {
  expect(remedyOf(reason, code)).toBe(remedy);
});

test("why a turn was interrupted, without the sentence around it", () => {
  expect(interruptionReason(row("The turn was cut off: the hub was restarted. Go on?"))).toBe("the hub was restarted");
  expect(interruptionReason(row("something new"))).toBe("something new");
});

test("a question has its subject and its outcome", () => {
  const ask = (text: object): UIRow => ({ ts: 1, type: "ask", ask: "tool", text: JSON.stringify(text), isAnswered: true });
  expect(parseQuestion(ask({ tool: "http:get", input: { url: "http://x" }, dialogId: "d", response: "yesButtonClicked", outcome: "answered" }))).toMatchObject({
    card: true,
    question: "",
    action: { kind: "used", what: "http get" },
    about: "http://x",
    end: "yes",
    byRules: false,
  });
  expect(parseQuestion(ask({ title: "Which?", question: "One of two.", promptId: "p", response: "messageResponse", answer: "the first" }))).toMatchObject({ question: "Which? One of two.", end: "said", answer: "the first" });
  expect(parseQuestion(ask({ tool: "command:run", command: "ls", rules: "approve", response: "yesButtonClicked" }))).toMatchObject({ card: true, question: "ls", byRules: true });
  expect(parseQuestion(ask({ tool: "x", dialogId: "d", outcome: "expired" })).end).toBe("expired");
  expect(parseQuestion(ask({}))).toMatchObject({ card: false, end: undefined });
});
