import { expect, test } from "vitest";
import { type Action, emptyDesktop, type WindowState } from "../../../core/src/index.js";
import { feedbackFor } from "../../src/content/feedback.js";

const w: WindowState = { windowId: "w", monitorId: "monitor-0", title: "", bounds: { x: 0, y: 0, w: 1, h: 1 }, content: { renderer: "html", data: "" } };
const desktop = { ...emptyDesktop(), windows: new Map([["monitor-0/w", w]]) };

test("an action without a request id needs no feedback", () => {
  expect(feedbackFor({ type: "window.capture", windowId: "w" }, "monitor-0", desktop)).toBeUndefined();
  expect(feedbackFor({ type: "toast.show", id: "t", message: "x" } as Action, "monitor-0", desktop)).toBeUndefined();
});

test.each([
  [{ type: "window.capture", windowId: "w", requestId: "r" }, "capture", "capture"],
  [{ type: "window.setContent", windowId: "w", requestId: "r", content: w.content }, "render", "html"],
  [{ type: "window.lock", windowId: "w", agentId: "a", requestId: "r" }, "lock", "lock"],
  [{ type: "window.focus", windowId: "w", requestId: "r" }, "done", "html"],
] as [Action, string, string][])("%j gets feedback", (action, kind, renderer) => {
  const feedback = { requestId: "r", windowId: "w", monitorId: "monitor-0", renderer };
  expect(feedbackFor(action, "monitor-0", desktop)).toEqual({ kind, key: "monitor-0/w", feedback });
});

test("a missing window has the key it would have", () => {
  expect(feedbackFor({ type: "window.capture", windowId: "x", requestId: "r" }, "monitor-1", desktop)?.key).toBe("monitor-1/x");
});
