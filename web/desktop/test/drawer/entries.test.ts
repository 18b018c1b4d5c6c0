import { describe, expect, test } from "vitest";
import type { DesktopState, QueuedMessage, Sent, UIRow } from "../../../core/src/index.js";
import { entriesOf, kindOf, type MessageEntry, notInRows, sameEntry, withDays } from "../../src/drawer/entries.js";

function desktop(rows: UIRow[], queues: Record<string, QueuedMessage[]> = {}): Pick<DesktopState, "rows" | "queues"> {
  return { rows: new Map(rows.map((row) => [row.ts, { row, bytes: 0 }])), queues: new Map(Object.entries(queues)) };
}

function userRow(ts: number, text: string, messageId: string, monitorId = "monitor-0"): UIRow {
  return { ts, type: "say", say: "user_feedback", text, messageId, monitorId };
}

function answer(ts: number, text: string, messageId = "m1", agentId = "main-monitor-0-m1"): UIRow {
  return { ts, type: "say", say: "text", text, messageId, agentId, monitorId: "monitor-0" };
}

function sent(id: string, part: Partial<Sent> = {}): Sent {
  const data = { content: `text of ${id}`, monitorId: "monitor-0" };
  return { id, type: "USER_MESSAGE", data, since: 1, status: "sending", written: 0, again: false, waits: 0, ...part } as Sent;
}

const messages = (d: Pick<DesktopState, "rows" | "queues">, items: Sent[], monitor?: string): MessageEntry[] =>
  entriesOf(d, items, monitor).filter((e) => e.kind === "user");

describe("entriesOf", () => {
  test("orders rows by time and leaves out other monitors", () => {
    const d = desktop([answer(20, "b"), userRow(10, "a", "m1"), userRow(15, "x", "m9", "monitor-1")]);
    expect(entriesOf(d, [], "monitor-0").map((e) => e.ts)).toEqual([10, 20]);
    expect(entriesOf(d, [], undefined).map((e) => e.ts)).toEqual([10, 15, 20]);
  });

  test("the end of a short turn that showed nothing has no line, nor has the end of a task", () => {
    const end = (ts: number, agentId: string, result: object): UIRow => ({ ts, type: "say", say: "api_req_finished", text: JSON.stringify(result), agentId, monitorId: "monitor-0" });
    const quick = { outcome: "completed", durationMs: 2 };
    const kinds = (...rows: UIRow[]): string[] => entriesOf(desktop(rows), [], "monitor-0").map((e) => e.kind);
    expect(kinds(end(1, "main-monitor-0-m1", quick))).toEqual([]);
    expect(kinds(answer(1, "a"), end(2, "main-monitor-0-m1", quick))).toEqual(["assistant", "result"]);
    expect(kinds(answer(1, "a"), end(2, "main-monitor-0-m1", quick), end(3, "main-monitor-0-m1", quick))).toEqual(["assistant", "result"]);
    expect(kinds(end(1, "main-monitor-0-m1", { ...quick, durationMs: 5000 }))).toEqual(["result"]);
    expect(kinds(end(1, "main-monitor-0-m1", { outcome: "interrupted", durationMs: 2 }))).toEqual(["result"]);
    expect(kinds(answer(1, "a", "m1", "task-monitor-0-m1-1"), end(2, "task-monitor-0-m1-1", { ...quick, durationMs: 5000 }))).toEqual(["assistant"]);
  });

  test("a message has one key before and after the hub has it", () => {
    const before = messages(desktop([]), [sent("m1")]);
    const after = messages(desktop([userRow(50, "text of m1", "m1")]), [sent("m1", { status: "accepted" })]);
    expect(before).toHaveLength(1);
    expect(after).toHaveLength(1);
    expect(after[0]!.key).toBe(before[0]!.key);
    expect(before[0]).toMatchObject({ status: "sending", text: "text of m1", row: undefined });
    expect(after[0]).toMatchObject({ status: "accepted", ts: 50 });
  });

  test("a pending message is last, though the browser's clock is behind", () => {
    const all = entriesOf(desktop([answer(1_000, "old")]), [sent("m2", { since: 5 })], "monitor-0");
    expect(all.map((e) => e.kind)).toEqual(["assistant", "user"]);
  });

  test("a message rejected before its commit stays at its time", () => {
    const all = entriesOf(desktop([answer(1_000, "newer")]), [sent("m2", { since: 5, status: "rejected", reason: "no", code: 1005 })], "monitor-0");
    expect(all.map((e) => e.kind)).toEqual(["user", "assistant"]);
    expect(all[0]).toMatchObject({ status: "rejected", reason: "no", code: 1005 });
  });

  test("an ended message without a row is left out", () => {
    expect(entriesOf(desktop([]), [sent("m1", { status: "completed" })], "monitor-0")).toEqual([]);
  });

  test("rows show that a message will not be answered", () => {
    const taken = { ...userRow(10, "a", "m1"), progressStatus: { icon: "discard", text: "taken out of the queue" } };
    const refused = { ...userRow(20, "b", "m2"), progressStatus: { icon: "circle-slash", text: "no room" } };
    const other = { ...userRow(30, "c", "m3"), progressStatus: { icon: "sync" } };
    const all = messages(desktop([taken, refused, other]), [sent("m1", { status: "rejected", reason: "r", code: 3003 })], "monitor-0");
    expect(all.map((e) => [e.status, e.withdrawn, e.reason])).toEqual([
      ["rejected", true, "r"],
      ["rejected", false, "no room"],
      [undefined, false, undefined],
    ]);
  });

  test("messages of other tabs have their position in the queue", () => {
    const q = { "monitor-0": [{ id: "a", text: "one", timestamp: 1 }, { id: "b", text: "two", timestamp: 2 }] };
    const all = messages(desktop([userRow(10, "two", "b")], q), [], "monitor-0");
    expect(all.map((e) => [e.id, e.status, e.position])).toEqual([
      ["a", "queued", 1],
      ["b", "queued", 2],
    ]);
  });

  test("the queue is newer than the status", () => {
    const q = { "monitor-0": [{ id: "m1", text: "x", timestamp: 1 }] };
    expect(messages(desktop([userRow(10, "x", "m1")], q), [sent("m1", { status: "queued", position: 4 })])[0]).toMatchObject({ status: "queued", position: 1 });
  });

  test("names the window by the sent message, or by the answering agent", () => {
    const press = sent("m1", { type: "COMPONENT_ACTION", data: { windowId: "w1", windowTitle: "Form", action: "Save", monitorId: "monitor-0" } } as Partial<Sent>);
    expect(messages(desktop([]), [press])[0]).toMatchObject({ text: "Save (Form)", window: "w1" });
    const d = desktop([userRow(10, "hi", "m2"), answer(11, "yes", "m2", "window-w2/act-1")]);
    expect(messages(d, [])[0]!.window).toBe("w2");
  });

  test("names the window of queued and running messages", () => {
    const q = { "monitor-0": [{ id: "a", text: "one", timestamp: 1, windowId: "w1" }] };
    const all = entriesOf(desktop([userRow(1, "one", "a"), userRow(2, "two", "b")], q), [], undefined, new Map([["b", "w2"]]));
    expect(all.map((e) => (e as MessageEntry).window)).toEqual(["w1", "w2"]);
  });

  test("a message of another tab that this tab withdrew is rejected", () => {
    const back = sent("x", { type: "DELETE_QUEUED_MESSAGE", data: { messageId: "a" } } as Partial<Sent>);
    expect(messages(desktop([userRow(1, "one", "a")]), [back])[0]!.status).toBe("rejected");
    const q = { "monitor-0": [{ id: "a", text: "one", timestamp: 1 }] };
    expect(messages(desktop([userRow(1, "one", "a")], q), [back])[0]!.status).toBe("queued");
  });

  test("pictures of a pending message are shown", () => {
    const s = sent("m1", { data: { content: "see", interactions: [{ type: "draw", timestamp: 1, imageData: "data:image/png;base64,AA" }] } } as Partial<Sent>);
    expect(messages(desktop([]), [s])[0]!.images).toEqual(["data:image/png;base64,AA"]);
  });

  test("two rows of one message are two entries with two keys", () => {
    const keys = entriesOf(desktop([userRow(1, "a", "m1"), userRow(2, "b", "m1")]), [], undefined).map((e) => e.key);
    expect(new Set(keys).size).toBe(2);
  });
});

test("kindOf knows every row that is shown", () => {
  const say = (s: UIRow["say"], text = "x"): UIRow => ({ ts: 1, type: "say", say: s, text });
  expect(kindOf(say("reasoning"))).toBe("thinking");
  expect(kindOf(say("tool"))).toBe("tool");
  expect(kindOf(say("api_req_finished"))).toBe("result");
  expect(kindOf(say("api_req_retry_delayed"))).toBe("retry");
  expect(kindOf(say("subtask_result"))).toBe("subtask");
  expect(kindOf(say("text", ""))).toBeUndefined();
  expect(kindOf(say("condense_context"))).toBe("condensed");
  expect(kindOf(say("condense_context_error"))).toBe("condenseFailed");
  expect(kindOf(say("sliding_window_truncation"))).toBe("truncated");
  expect(kindOf({ ts: 1, type: "ask", ask: "resume_task", text: "?" })).toBe("resume");
});

test("a question that has a card is shown once: as the card, and as a line after the answer", () => {
  const ask = (text: object, isAnswered?: boolean): UIRow => ({ ts: 1, type: "ask", ask: "tool", text: JSON.stringify(text), ...(isAnswered === undefined ? {} : { isAnswered }) });
  expect(kindOf(ask({ tool: "x", dialogId: "d" }))).toBeUndefined();
  expect(kindOf(ask({ question: "x", promptId: "p" }))).toBeUndefined();
  expect(kindOf(ask({ tool: "x", dialogId: "d" }, true))).toBe("asked");
  expect(kindOf(ask({ tool: "x" }))).toBe("note");
});

test("a message that is being edited is shown in its place until its row is removed", () => {
  const edit = (status: Sent["status"]): Sent => sent("m2", { type: "EDIT_MESSAGE", data: { ts: 10, text: "better", monitorId: "monitor-0" }, status: status } as Partial<Sent>);
  expect(messages(desktop([userRow(10, "a", "m1")]), [edit("sending")]).map((e) => e.text)).toEqual(["a"]);
  expect(messages(desktop([]), [edit("sending")]).map((e) => e.text)).toEqual(["better"]);
  expect(messages(desktop([userRow(20, "better", "m2")]), [edit("accepted")]).map((e) => [e.text, e.status])).toEqual([["better", "accepted"]]);
});

test("a day entry precedes the entries of the day", () => {
  const entries = entriesOf(desktop([userRow(1, "a", "m1"), userRow(2, "b", "m2"), userRow(30, "c", "m3")]), [], undefined);
  expect(withDays(entries, (ts) => (ts < 10 ? "first" : "second")).map((e) => e.kind)).toEqual(["day", "user", "user", "day", "user"]);
});

test("an entry created again from the same values is the same", () => {
  const d = desktop([userRow(1, "a", "m1"), answer(2, "b")]);
  const items = [sent("m1", { status: "running" })];
  const [a, b] = [entriesOf(d, items, undefined), entriesOf(d, items, undefined)];
  a.forEach((e, i) => expect(sameEntry(e, b[i]!)).toBe(true));
  expect(sameEntry(a[0]!, entriesOf(d, [sent("m1", { status: "completed" })], undefined)[0]!)).toBe(false);
});

test("live thinking leaves out the text of rows", () => {
  expect(notInRows("one two three", [])).toBe("one two three");
  expect(notInRows("one two three", ["one two"])).toBe("three");
  expect(notInRows("one two", ["one […]", "two"])).toBe("");
  expect(notInRows("new thought", ["something else"])).toBe("new thought");
});

test("live text continues after the text of rows, though the first of them were dropped", () => {
  expect(notInRows("First. Then. Now", ["First. ", "Then. "])).toBe("Now");
  expect(notInRows("First. Then. Now", ["Then. "])).toBe("Now");
});
