import { describe, expect, test } from "vitest";
import type { MessageStatus, Sent } from "../../../core/src/index.js";
import {
  agentSteps,
  avoidWindows,
  endedSteps,
  hasBegun, knownSteps,
  markOf,
  nearestCorner,
  nextCorner,
  noProgress,
  type Progress,
  readProgress,
  requests,
  resume,
  shapeOf,
  type TourInput,
  withDone,
} from "../../src/tour/steps.js";

const sent = (id: string, status: MessageStatus): Sent => ({ id, type: "USER_MESSAGE", data: { content: "" }, since: 0, status: status, written: 1, again: false, waits: 0 });
const began: Progress = { ...noProgress, sent: { windows: "m1" } };

describe("marks", () => {
  test.each([
    ["sending", "going"],
    ["queued", "going"],
    ["running", "going"],
    ["completed", "done"],
    ["ended", "done"],
    ["interrupted", "done"],
    ["rejected", "failed"],
    ["failed", "failed"],
  ] as const)("a message with status %s marks its step as %s", (status, mark) => {
    expect(markOf("windows", began, [sent("m1", status)])).toBe(mark);
  });

  test("a step that was not started is open", () => {
    expect(markOf("form", began, [])).toBe("open");
    expect(markOf("restart", began, [])).toBe("open");
  });

  test("a message that is being sent is running", () => {
    expect(markOf("windows", began, [])).toBe("going");
    expect(endedSteps(began, [])).toEqual([]);
    expect(endedSteps(began, [sent("m1", "completed")])).toEqual(["windows"]);
  });

  test("after a reload, a message that is no longer in the outbox counts as done", () => {
    expect(resume(began, []).done).toEqual(["windows"]);
    expect(resume(began, [sent("m1", "running")])).toBe(began);
  });

  test("a completed step stays completed", () => {
    const p = withDone(began, ["windows", "secondTab"]);
    expect(markOf("windows", p, [sent("m1", "failed")])).toBe("done");
    expect(withDone(p, ["windows"])).toBe(p);
    expect(endedSteps(p, [])).toEqual([]);
  });
});

describe("the shape", () => {
  const first: TourInput = { ready: true, provider: "demo", fresh: true, pinned: false, toured: false, wanted: false, begun: false };
  test.each<[string, Partial<TourInput>, string]>([
    ["a first page of the demo", {}, "card"],
    ["before the desktop is known", { ready: false }, "none"],
    ["before the settings of the user are known", { toured: undefined }, "none"],
    ["a pinned tab", { pinned: true }, "none"],
    ["after the first click", { fresh: false, begun: true }, "list"],
    ["a session that was used without the tour", { fresh: false }, "none"],
    ["closed once, on a new session", { toured: true }, "examples"],
    ["closed once, on a used session", { toured: true, fresh: false, begun: true }, "none"],
    ["asked for on a new session", { toured: true, wanted: true }, "card"],
    ["asked for on a used session", { toured: true, wanted: true, fresh: false }, "list"],
    ["another provider", { provider: "anthropic" }, "examples"],
    ["another provider on a used session", { provider: "anthropic", fresh: false }, "none"],
    ["asked for with another provider", { provider: "anthropic", wanted: true }, "list"],
  ])("%s", (_, part, shape) => {
    expect(shapeOf({ ...first, ...part })).toBe(shape);
  });
});

test("progress survives its storage, and invalid data is ignored", () => {
  const p: Progress = { sent: { plan: "m2" }, done: ["windows", "model"], corner: "top-left", put: true, folded: true, tucked: true };
  expect(readProgress(JSON.stringify(p))).toEqual(p);
  for (const text of [null, "", "null", "[]", "{", '{"sent":7,"done":{},"corner":"middle"}', '{"sent":{"x":"m","form":3},"done":["x"]}']) {
    expect(readProgress(text)).toEqual(noProgress);
  }
  expect(hasBegun(noProgress, false)).toBe(false);
  expect(hasBegun(p, true)).toBe(true);
});

test("every step has a message in both languages", () => {
  for (const s of agentSteps) {
    expect(requests.en[s]).toMatch(/^[\x20-\x7e]+$/);
    expect(requests.ko[s]).toMatch(/[가-힣]/);
  }
});

test("steps that the user did in another browser count; a fresh session begins with the welcome", () => {
  const steps = knownSteps(["form", "closed", "dance"]);
  expect(steps).toEqual(["form"]);
  const p = withDone(noProgress, steps);
  expect(hasBegun(p, false)).toBe(true);
  expect(hasBegun(p, true)).toBe(false);
});

test("corners", () => {
  expect(nearestCorner(10, 10, 100, 100)).toBe("top-left");
  expect(nearestCorner(90, 60, 100, 100)).toBe("bottom-right");
  let c = noProgress.corner;
  for (let i = 0; i < 4; i++) c = nextCorner(c);
  expect(c).toBe(noProgress.corner);
});

describe("windows that open", () => {
  const size = { list: { w: 264, h: 330 }, folded: { w: 264, h: 76 }, canvas: { w: 1000, h: 700 } };
  const all = { x: 0, y: 0, w: 1000, h: 700 };

  test("beside the list do not change it", () => {
    expect(avoidWindows(noProgress, { ...size, windows: [{ x: 400, y: 0, w: 600, h: 700 }] })).toBe(noProgress);
  });

  test("under the list collapse it in its place", () => {
    const p = avoidWindows(noProgress, { ...size, windows: [{ x: 100, y: 300, w: 300, h: 200 }] });
    expect(p).toMatchObject({ folded: true, corner: "bottom-left" });
  });

  test("under the collapsed list move it to a free corner", () => {
    const left = { x: 0, y: 0, w: 500, h: 700 };
    expect(avoidWindows(noProgress, { ...size, windows: [left] })).toMatchObject({ folded: true, corner: "bottom-right" });
    expect(avoidWindows({ ...noProgress, put: true }, { ...size, windows: [left] })).toMatchObject({ folded: true, corner: "bottom-left" });
  });

  test("everywhere put it beside the command bar, until one closes", () => {
    const p = avoidWindows(noProgress, { ...size, windows: [all] });
    expect(p).toMatchObject({ folded: true, corner: "bottom-left", tucked: true });
    expect(avoidWindows(p, { ...size, windows: [all] })).toBe(p);
    expect(avoidWindows(p, { ...size, windows: [] })).toMatchObject({ folded: true, corner: "bottom-left", tucked: false });
  });
});
