import { expect, test } from "vitest";
import type { LogEvent } from "../src/api/types.js";
import { appendEvents, emptyLog, maxEvents, positionBefore, setPaused, subjectOf, tailStart } from "../src/session/log.js";

const event = (at: string, data: unknown = {}): LogEvent => ({ type: "X", message_id: at, timestamp: "2026-01-01T00:00:00.000Z", data });
const at = (events: readonly LogEvent[]): (string | undefined)[] => events.map((e) => e.message_id);

test("an event that is delivered twice is shown once", () => {
  let log = appendEvents(emptyLog, [event("1-9"), event("1-10")]);
  log = appendEvents(log, [event("1-10"), event("1-11"), event("2-0")]);
  expect(at(log.events)).toEqual(["1-9", "1-10", "1-11", "2-0"]);
  expect(appendEvents(log, [event("1-11")])).toBe(log);
});

test("a pause buffers events and shows them afterwards", () => {
  let log = setPaused(appendEvents(emptyLog, [event("1-1")]), true);
  log = appendEvents(appendEvents(log, [event("1-2")]), [event("1-2"), event("1-3")]);
  expect([at(log.events), at(log.buffered)]).toEqual([["1-1"], ["1-2", "1-3"]]);
  log = setPaused(log, false);
  expect([at(log.events), at(log.buffered)]).toEqual([["1-1", "1-2", "1-3"], []]);
});

test("the oldest events are dropped", () => {
  const many = Array.from({ length: maxEvents + 5 }, (_, n) => event(`1-${n}`));
  expect(at(appendEvents(emptyLog, many).events)[0]).toBe("1-5");
  expect(appendEvents(setPaused(emptyLog, true), many).buffered).toHaveLength(maxEvents);
});

test("the start position of a tail", () => {
  const owners = [3, 2, 1].map((epoch) => ({ epoch, replica: "hub", at: 0 }));
  const from = (top: string | undefined, of = owners): string => tailStart({ row: top === undefined ? {} : { top }, owners: of });
  expect(["3-1000", "3-10", undefined, "bad"].map((p) => from(p))).toEqual(["3-800", "2-0", "0-0", "0-0"]);
  expect(from("3-10", owners.slice(0, 1)), "nobody had it before").toBe("0-0");
  expect(["3-120", " 3-120 ", "3-0", "0-0", "x", "3", "03-1"].map((p) => positionBefore(p))).toEqual(["3-119", "3-119", "2-18446744073709551615", "0-0", undefined, undefined, undefined]);
});

test("the agent and monitor of an event", () => {
  expect(subjectOf(event("1-1", { agentId: "main-1", monitorId: "monitor-0" }))).toEqual({ agent: "main-1", monitor: "monitor-0" });
  expect(subjectOf(event("1-1", null))).toEqual({ agent: "", monitor: "" });
});
