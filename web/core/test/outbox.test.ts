import { describe, expect, it } from "vitest";
import { decodeEvent, type HubEvent } from "../src/event.js";
import { applyToOutbox, emptyOutbox, enqueue, type Message, markForResend, markWritten, nextToWrite, type Outbox, outboxLimits, reconcile, rejectOversized, restoreOutbox, serializeOutbox } from "../src/outbox.js";
import { applyEvent } from "../src/reduce.js";
import { emptyDesktop } from "../src/state.js";

function event(type: string, data: unknown, at = "1-1"): HubEvent {
  return decodeEvent(JSON.stringify({ type, session_id: "s", message_id: at, timestamp: "2026-11-15T00:00:00.000Z", data }))!;
}

/** An outbox with a message that was written to connection 1. */
function sent(id = "m1"): Outbox {
  return markWritten(enqueue(emptyOutbox, { id, type: "USER_MESSAGE", data: { content: "hi", messageId: id }, since: 1 })!, id, 1, 0);
}

function moved(id: string, type: "window.move" | "window.resize", windowId: string, x: number): Message {
  const interactions = [{ type, windowId, timestamp: 1, bounds: { x, y: 0, w: 1, h: 1 } }];
  return { id, type: "USER_INTERACTION", data: { monitorId: "monitor-0", interactions }, since: 1 };
}

/** The ids to write, in order. */
function writeOrder(o: Outbox): string[] {
  const { sent } = nextToWrite(o, 1, 0);
  return sent === undefined ? [] : [sent.id, ...writeOrder(markWritten(o, sent.id, 1, 0))];
}

function statuses(o: Outbox, ...events: HubEvent[]): string[] {
  return events.map((e) => {
    o = applyToOutbox(o, e, 0);
    return o.items[0]!.status;
  });
}

const accepted = (how: string) => event("MESSAGE_ACCEPTED", { messageId: "m1", agentId: "main-1", how });
const response = (more: object) => event("AGENT_RESPONSE", { agentId: "main-1", isComplete: false, delta: "x", ...more });

describe("the status of a message", () => {
  it("goes from sending to the end of its turn", () => {
    expect(
      statuses(sent(), event("MESSAGE_QUEUED", { messageId: "m1", position: 2 }), accepted("direct"), response({}), response({ isComplete: true, outcome: "completed" })),
    ).toEqual(["queued", "accepted", "running", "completed"]);
  });

  it.each(["steered", "ephemeral"])("may be %s", (how) => {
    expect(statuses(sent(), accepted(how), response({ isComplete: true, outcome: "failed", reason: "r" }))).toEqual([how, "failed"]);
  });

  it("may be interrupted or rejected", () => {
    const interrupted = event("TURN_INTERRUPTED", { messageId: "m1", agentId: "main-1", reason: "user", resumable: true });
    expect(statuses(sent(), accepted("direct"), interrupted)).toEqual(["accepted", "interrupted"]);
    const rejected = applyToOutbox(sent(), event("MESSAGE_REJECTED", { messageId: "m1", code: 3004, reason: "full" }), 0);
    expect(rejected.items[0]).toMatchObject({ status: "rejected", code: 3004, reason: "full" });
  });

  const toPlan = (type: "hitl_input_response" | "control_pause", data: object): Outbox => markWritten(enqueue(emptyOutbox, { id: "m1", type, data, since: 1 } as Message)!, "m1", 1, 0);

  it("to the plan is accepted by any event that names it", () => {
    expect(statuses(toPlan("control_pause", {}), event("hitl_paused", { paused_by: "user", completed_todos: [], can_resume: true, messageId: "m2" }))).toEqual(["sending"]);
    expect(statuses(toPlan("control_pause", {}), event("hitl_paused", { paused_by: "user", completed_todos: [], can_resume: true, messageId: "m1" }))).toEqual(["done"]);
    expect(statuses(toPlan("control_pause", {}), event("MESSAGE_ACCEPTED", { messageId: "m1", agentId: "plan-1", how: "direct", duplicate: true }))).toEqual(["done"]);
  });

  it("that answers a question of the plan ends with the question, or with an error", () => {
    const answer = toPlan("hitl_input_response", { request_id: "hitl_1", value: 1 });
    const closed = (request_id: string): HubEvent => event("hitl_closed", { request_id, reason: "answered", messageId: "m9" });
    expect(statuses(answer, closed("hitl_2"), closed("hitl_1"))).toEqual(["sending", "done"]);
    const wrong = event("error", { code: 5002, name: "WS_HITL_INVALID_RESPONSE", message: "want a text", recoverable: true, messageId: "m1", field: "value" });
    expect(applyToOutbox(answer, wrong, 0).items[0]).toMatchObject({ status: "rejected", code: 5002, reason: "want a text", field: "value" });
  });

  it("does not change by events of other messages", () => {
    const o = sent();
    expect(applyToOutbox(o, event("MESSAGE_ACCEPTED", { messageId: "m2", agentId: "main-1" }), 0)).toBe(o);
    expect(statuses(o, accepted("direct"), event("AGENT_RESPONSE", { agentId: "main-2", isComplete: true }))).toEqual(["accepted", "accepted"]);
  });

  it("follows the queue", () => {
    let o = applyToOutbox(sent(), event("MESSAGE_QUEUED", { messageId: "m1", position: 2 }), 0);
    const messages = [{ timestamp: 1, id: "m1", text: "" }];
    o = applyToOutbox(o, event("QUEUE_UPDATED", { monitorId: "monitor-0", messages }), 0);
    expect(o.items[0]).toMatchObject({ status: "queued", position: 1 });
  });

  it("ends with its question when that is closed, whoever answered", () => {
    const data = { dialogId: "d", confirmed: true };
    const o = markWritten(enqueue(emptyOutbox, { id: "m1", type: "DIALOG_FEEDBACK", data, since: 1 })!, "m1", 1, 0);
    expect(statuses(o, event("DIALOG_CLOSED", { dialogId: "d", reason: "answered", messageId: "other" }))).toEqual(["done"]);
  });

  it("ends when a snapshot does not contain its turn", () => {
    const o = applyToOutbox(sent(), accepted("direct"), 0);
    expect(reconcile(o, applyEvent(emptyDesktop(), accepted("direct")))).toBe(o);
    expect(reconcile(o, emptyDesktop()).items[0]!.status).toBe("ended");
    const queued = applyToOutbox(sent(), event("MESSAGE_QUEUED", { messageId: "m1", position: 1 }), 0);
    expect(nextToWrite(reconcile(queued, emptyDesktop()), 1, 0).sent?.id).toBe("m1");
  });
});

describe("commands on the history", () => {
  const posted = (type: "REWIND" | "EDIT_MESSAGE" | "CONDENSE", data: object): Outbox =>
    markWritten(enqueue(emptyOutbox, { id: "m1", type, data: { monitorId: "monitor-0", ...data } as never, since: 1 })!, "m1", 1, 0);
  const status = (more: object) => event("MONITOR_STATUS", { monitorId: "monitor-0", state: "idle", queue: 0, ...more });

  it("end when the rows are removed, or are rejected with a reason", () => {
    const o = posted("REWIND", { ts: 5, revision: 0 });
    expect(statuses(o, event("HISTORY_REWOUND", { ts: 5, removed: 2, messageId: "other" }))).toEqual(["sending"]);
    expect(statuses(o, event("HISTORY_REWOUND", { ts: 5, removed: 2, messageId: "m1" }))).toEqual(["done"]);
    expect(statuses(o, event("MESSAGE_REPEATED", { messageId: "m1", first: "1-1", to: "c" }))).toEqual(["done"]);
    const no = applyToOutbox(o, event("MESSAGE_REJECTED", { messageId: "m1", code: 3008, reason: "changed", reasonCode: "history_changed" }), 0);
    expect(no.items[0]).toMatchObject({ status: "rejected", code: 3008, reasonCode: "history_changed" });
  });

  it("are answered like messages for edits", () => {
    const rewound = event("HISTORY_REWOUND", { ts: 5, removed: 2, messageId: "m1" });
    expect(statuses(posted("EDIT_MESSAGE", { ts: 5, text: "x" }), rewound, accepted("direct"), response({ isComplete: true, outcome: "completed" }))).toEqual(["sending", "accepted", "completed"]);
  });

  it("end when condensing has begun", () => {
    const o = posted("CONDENSE", {});
    expect(statuses(o, status({ context: { tokens: 5 } }), status({ context: { tokens: 5, condensing: true } }))).toEqual(["sending", "done"]);
    expect(reconcile(o, emptyDesktop()).items[0]!.status).toBe("done");
  });

  it("end when a snapshot shows a rewind", () => {
    const o = posted("REWIND", { ts: 5, revision: 1 });
    expect(reconcile(o, applyEvent(emptyDesktop(), status({ revision: 1 }))).items[0]!.status).toBe("sending");
    expect(reconcile(o, applyEvent(emptyDesktop(), status({ revision: 2 }))).items[0]!.status).toBe("done");
  });
});

describe("sending", () => {
  it("happens once per connection until an answer, in order", () => {
    let o = enqueue(sent(), { id: "m2", type: "USER_MESSAGE", data: { content: "two" }, since: 2 })!;
    expect(nextToWrite(o, 1, 0).sent?.id).toBe("m2");
    o = markWritten(o, "m2", 1, 0);
    expect(nextToWrite(o, 1, 0).sent).toBeUndefined();
    expect(nextToWrite(o, 2, 0).sent?.id).toBe("m1");
    expect(nextToWrite(markForResend(o), 1, 0).sent?.id).toBe("m1");
    o = applyToOutbox(o, accepted("direct"), 0);
    expect(nextToWrite(o, 2, 0).sent?.id).toBe("m2");
  });

  it("completes messages without an answer", () => {
    const o = enqueue(sent(), { id: "x", type: "INTERRUPT", data: {}, since: 1 })!;
    expect(nextToWrite(o, 1, 0).sent?.id).toBe("x");
    expect(markWritten(o, "x", 1, 0)).toMatchObject({ items: sent().items, notes: [] });
    expect(markWritten(o, "x", 1, 0).items).toBe(o.items); // unchanged, so that nothing renders again
  });

  it("keeps the order of messages with and without an answer", () => {
    let o = enqueue(emptyOutbox, { id: "a", type: "SUBSCRIBE_MONITOR", data: { monitorId: "monitor-1" }, since: 1 })!;
    o = enqueue(o, { id: "b", type: "USER_MESSAGE", data: { content: "" }, since: 1 })!;
    o = enqueue(o, { id: "c", type: "INTERRUPT", data: {}, since: 1 })!;
    o = enqueue(o, { id: "d", type: "USER_MESSAGE", data: { content: "" }, since: 1 })!;
    o = enqueue(o, { id: "e", type: "RESET", data: {}, since: 1 })!;
    for (const kept of [o, restoreOutbox(serializeOutbox(o))]) expect(writeOrder(kept)).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("includes only the newest place of a window", () => {
    let o = emptyOutbox;
    for (let i = 0; i < 300; i++) o = enqueue(o, moved(`m${i}`, "window.move", "w", i))!;
    o = enqueue(o, moved("size", "window.resize", "w", 7))!;
    o = enqueue(o, moved("other", "window.move", "v", 8))!;
    expect(writeOrder(o)).toEqual(["m299", "size", "other"]);
  });

  it("is slower when the hub is busy, and gives up at last", () => {
    const busy = event("error", { code: 1004, name: "n", message: "slow down", recoverable: true, suggested_action: "wait", messageId: "m1" }, undefined);
    let o = applyToOutbox(sent(), busy, 1000);
    expect(nextToWrite(o, 1, 1000)).toEqual({ at: 1500 });
    expect(nextToWrite(o, 1, 1500).sent?.id).toBe("m1");
    for (let i = 0; i < outboxLimits.waits; i++) o = applyToOutbox(markWritten(o, "m1", 1, 0), busy, 1000);
    expect(o.items[0]).toMatchObject({ status: "rejected", reason: "slow down" });
  });

  it("is not retried for messages that were too large", () => {
    let o = enqueue(sent(), { id: "m2", type: "USER_MESSAGE", data: { content: "large" }, since: 2 })!;
    o = rejectOversized(markWritten(o, "m2", 1, 0), 1, 1009, (s) => JSON.stringify(s.data).length + (s.id === "m2" ? 100 : 0));
    expect(o.items.map((i) => i.status)).toEqual(["sending", "rejected"]);
  });

  it("has bounds", () => {
    let o = emptyOutbox;
    for (let i = 0; i < outboxLimits.unanswered; i++) o = enqueue(o, { id: `m${i}`, type: "USER_MESSAGE", data: { content: "" }, since: i })!;
    expect(enqueue(o, { id: "one more", type: "USER_MESSAGE", data: { content: "" }, since: 0 })).toBeUndefined();
    expect(enqueue(sent(), { id: "m1", type: "USER_MESSAGE", data: { content: "" }, since: 0 })).toBeUndefined();
    expect(enqueue(o, { id: "a note", type: "INTERRUPT", data: {}, since: 0 })).toBeUndefined();
  });

  it("drops the oldest ended message first, and unaccepted messages last", () => {
    let o = applyToOutbox(sent("lost"), event("MESSAGE_REJECTED", { messageId: "lost", code: 3004, reason: "full" }), 0);
    for (let i = 0; i < 300; i++) {
      o = markWritten(enqueue(o, { id: `e${i}`, type: "EMIT", data: { actions: [] }, since: i })!, `e${i}`, 1, 0);
      o = applyToOutbox(o, event("EMITTED", { messageId: `e${i}`, message_id: "1-1" }), 0);
    }
    expect(o.items.length).toBe(outboxLimits.all);
    expect([o.items[0]!.id, o.items.at(-1)!.id]).toEqual(["lost", "e299"]);
    for (let i = 0; i < 300; i++) {
      o = markWritten(enqueue(o, { id: `m${i}`, type: "USER_MESSAGE", data: { content: "" }, since: i })!, `m${i}`, 1, 0);
      o = applyToOutbox(o, event("MESSAGE_REJECTED", { messageId: `m${i}`, code: 3004, reason: "full" }), 0);
    }
    expect(o.items.length).toBe(outboxLimits.all);
    expect([o.items[0]!.id, o.items.at(-1)!.id]).toEqual(["m100", "m299"]);
  });

  it("drops nothing in favour of one-way messages", () => {
    const lost = applyToOutbox(sent(), event("MESSAGE_REJECTED", { messageId: "m1", code: 3004, reason: "full" }), 0);
    let o = lost;
    for (let i = 0; i < 300; i++) o = markWritten(enqueue(o, moved(`x${i}`, "window.move", "w", i))!, `x${i}`, 1, 0);
    expect(o.items).toBe(lost.items);
  });
});

describe("a reload", () => {
  it("keeps unfinished messages, whose answers still count", () => {
    let o = enqueue(sent(), { id: "m2", type: "INTERRUPT", data: {}, since: 2 })!;
    o = restoreOutbox(serializeOutbox(markWritten(o, "m2", 1, 0)));
    expect(o.items.map((i) => i.id)).toEqual(["m1"]);
    expect(nextToWrite(o, 1, 0).sent?.id).toBe("m1");
    expect(statuses(o, accepted("direct"))).toEqual(["accepted"]);
  });

  it("starts empty when the stored data is invalid", () => {
    for (const text of [null, "", "{", "7", "[7, null, {}]", '[{"id":"a","type":"b","fate":"sending"}]']) {
      expect(restoreOutbox(text).items).toEqual([]);
    }
  });
});
