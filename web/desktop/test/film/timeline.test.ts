import { describe, expect, it } from "vitest";
import type { HubEvent } from "../../../core/src/index.js";
import { filesAt, longestPause, type Mark, markOf, neighbour, Playhead, PlayTimes, returnTo } from "../../src/film/timeline.js";

const head = (n: number, time: number) => ({ session: "ses-1", at: `1-${n}`, time });
const row = (n: number, say: string, action = "created"): HubEvent =>
  ({ type: "messageUpdated", ...head(n, n * 1000), data: { action, message: { ts: n, type: "say", say, text: `row ${n}` }, monitorId: "monitor-1" } }) as HubEvent;
const saved = (n: number): HubEvent => ({ type: "CHECKPOINT_SAVED", ...head(n, n * 1000), data: { hash: `h${n}`, ts: n } }) as HubEvent;

describe("the marks of a film", () => {
  it("are messages of users, plans and checkpoints", () => {
    const plan = { type: "plan_generated", ...head(3, 3000), data: { plan_id: "p", request: "tidy up", todos: [] } } as unknown as HubEvent;
    const events = [row(1, "user_feedback"), row(2, "text"), plan, saved(4), row(5, "user_feedback", "updated")];
    const marks = events.flatMap((e, i) => markOf(e, i + 1) ?? []);
    expect(marks.map((m) => [m.kind, m.moment, m.text])).toEqual([
      ["message", 1, "row 1"],
      ["plan", 3, "tidy up"],
      ["checkpoint", 4, ""],
    ]);
    expect(marks[0]).toMatchObject({ monitorId: "monitor-1", ts: 1 });
  });

  it("are stepped through in both directions", () => {
    const marks = [2, 5, 9].map((moment): Mark => ({ moment, time: 0, kind: "message", text: "", monitorId: "monitor-0" }));
    expect(neighbour(marks, 5, true)?.moment).toBe(2);
    expect(neighbour(marks, 5, false)?.moment).toBe(9);
    expect(neighbour(marks, 2, true)).toBeUndefined();
    expect(neighbour(marks, 9, false)).toBeUndefined();
  });
});

describe("the files of a moment", () => {
  const restored = (n: number, error?: string): HubEvent =>
    ({ type: "CHECKPOINT_RESTORED", ...head(n, n * 1000), data: { hash: `r${n}`, files: 1, windows: 0, ...(error === undefined ? {} : { error }) } }) as unknown as HubEvent;
  const events = [row(1, "user_feedback"), saved(2), row(3, "text"), saved(4), restored(5), restored(6, "the disk is full"), row(7, "user_feedback")];
  const marks = events.flatMap((e, i) => markOf(e, i + 1) ?? []);

  it.each([
    [0, undefined],
    [1, undefined],
    [2, "h2"],
    [3, "h2"],
    [4, "h4"],
    [5, "r5"],
    [7, "r5"], // a restore that failed is none
  ])("%i are those of %s", (moment, hash) => {
    expect(filesAt(marks, moment)?.hash).toBe(hash);
  });
});

describe("going back", () => {
  const mark = (moment: number, kind: Mark["kind"]): Mark => ({ moment, time: 0, kind, text: "", monitorId: "monitor-0", ...(kind === "message" ? { ts: moment } : { hash: `h${moment}` }) });
  const marks = [mark(1, "message"), mark(2, "checkpoint"), mark(4, "message"), mark(5, "checkpoint"), mark(7, "message")];

  it("rewinds to before the next message that is still there", () => {
    expect(returnTo(marks, 3, () => true)).toEqual({ kind: "rewind", mark: marks[2] });
    expect(returnTo(marks, 3, (m) => m.ts !== 4)).toEqual({ kind: "rewind", mark: marks[4] });
  });

  it("restores the last saved state where nothing was said later", () => {
    expect(returnTo(marks, 8, () => true)).toEqual({ kind: "restore", mark: marks[3] });
    expect(returnTo(marks, 3, () => false)).toEqual({ kind: "restore", mark: marks[1] });
    expect(returnTo(marks, 1, () => false)).toBeUndefined();
  });
});

describe("the times of a film", () => {
  const eventsAt = (...times: number[]): HubEvent[] => times.map((time, i) => ({ ...row(i + 1, "text"), time }) as HubEvent);

  it("are those of the events, with long pauses cut short", () => {
    const times = new PlayTimes(eventsAt(0, 100, 100, 90, 3_600_000));
    expect([0, 1, 2, 3, 4, 5, 6].map((m) => times.of(m))).toEqual([0, 0, 100, 100, 100, 100 + longestPause, 100 + longestPause]);
    expect(new PlayTimes([]).of(0)).toBe(0);
  });

  it("lead to moments", () => {
    const times = new PlayTimes(eventsAt(0, 100, 100, 400));
    expect([0, 99, 100, 399, 400, 9999].map((t) => times.momentAt(t))).toEqual([1, 1, 3, 3, 4, 4]);
  });

  it("play on while events arrive at every frame", () => {
    const events = eventsAt(0, 1000, 2000);
    const head = new Playhead(new PlayTimes(events), 1);
    let moment = 1;
    const shown: number[] = [];
    for (let now = 0; now <= 1000; now += 20) {
      events.push(...eventsAt(3000 + now));
      moment = head.next(now, 2, moment);
      shown.push(moment);
    }
    expect(shown[24], "after 480 ms at 2×").toBe(1);
    expect(shown[25], "after 500 ms at 2×").toBe(2);
    expect(shown[50], "after 1000 ms at 2×").toBe(3);
  });

  it("continue where the user has moved the film to", () => {
    const head = new Playhead(new PlayTimes(eventsAt(0, 1000, 2000, 3000)), 0);
    head.next(0, 1, 0);
    expect(head.next(100, 1, 3)).toBe(3);
    expect(head.next(1000, 1, 3)).toBe(4);
  });
});
