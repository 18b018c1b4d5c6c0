import { beforeEach, expect, test } from "vitest";
import type { HubEvent } from "../../../core/src/index.js";
import { HubClock } from "../../src/shell/hub-clock.js";

const hour = 3_600_000;
const begin = 1_800_000_000_000;

let steady = 0;
let wall = 0;
let clock: HubClock;

beforeEach(() => {
  steady = begin;
  wall = begin;
  clock = new HubClock(
    () => steady,
    () => wall,
  );
});

function advance(ms: number): void {
  steady += ms;
  wall += ms;
}

/** Delivers an event with a delay of `took` ms from a hub whose clock is `behind` ms behind. */
function deliverEvent(behind: number, took: number, type = "SESSION_RENAMED", replayed = false): void {
  clock.recordTime({ type, session: "s", at: "1-1", time: steady - behind - took, data: { title: "" } } as HubEvent, replayed);
}

test("before any event, the hub's time is the browser's", () => {
  expect(clock.now()).toBe(begin);
  deliverEvent(hour, 0, "SESSION_RENAMED", true);
  for (const time of [-62_135_596_800_000, NaN]) clock.recordTime({ type: "", name: "NEW", session: "s", at: "1-1", time }, false);
  expect(clock.now()).toBe(begin);
});

test("the fastest event determines the offset of the clocks", () => {
  deliverEvent(hour, 900);
  expect(clock.now()).toBe(begin - hour - 900);
  deliverEvent(hour, 20);
  deliverEvent(hour, 5000);
  expect(clock.now()).toBe(begin - hour - 20);
  advance(1000);
  expect(clock.now()).toBe(begin - hour - 20 + 1000);
  expect(clock.at(begin)).toBe(begin - hour - 20);
});

test("a hub whose clock is ahead is handled, too", () => {
  deliverEvent(-hour, 20);
  expect(clock.now()).toBe(begin + hour - 20);
});

test("setting the browser's clock changes nothing", () => {
  deliverEvent(0, 20);
  wall += 10_000;
  expect(clock.now()).toBe(begin - 20);
  expect(clock.at(wall)).toBe(begin - 20);
});

test("old samples are dropped, but not while there are no new ones", () => {
  deliverEvent(0, 0);
  advance(hour);
  deliverEvent(0, 8000); // late after a long silence
  expect(clock.now()).toBe(begin + hour);
  advance(31_000);
  deliverEvent(10_000, 0); // the hub's clock was set back
  advance(31_000);
  deliverEvent(10_000, 0);
  advance(31_000);
  deliverEvent(10_000, 0);
  expect(clock.now()).toBe(steady - 10_000);
});

test("a new owner has its own clock, and so may a new connection", () => {
  deliverEvent(0, 0);
  deliverEvent(hour, 50, "OWNER_CHANGED");
  expect(clock.now()).toBe(begin - hour - 50);
  deliverEvent(2 * hour, 50, "session_state");
  expect(clock.now()).toBe(begin - 2 * hour - 50);
});
