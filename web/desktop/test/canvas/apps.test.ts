import { expect, test } from "vitest";
import type { WindowState } from "../../../core/src/index.js";
import { type App, openApp, pinWindow } from "../../src/canvas/apps.js";

const counter: App = { id: "counter", name: "Counter", url: "/api/apps/counter/index.html", width: 320, variant: "widget" };

function shown(windowId: string, content: WindowState["content"], monitorId = "monitor-0"): WindowState {
  return { windowId, monitorId, title: "T", bounds: { x: 1, y: 2, w: 3, h: 4 }, content };
}

test("an app opens in a window of its size", () => {
  expect(openApp(counter, "monitor-0", [])).toEqual({
    type: "window.create",
    windowId: "app-counter",
    title: "Counter",
    bounds: { x: 120, y: 80, w: 320, h: 400 },
    content: { renderer: "iframe", data: "/api/apps/counter/index.html" },
    variant: "widget",
  });
});

test("the window of an open app comes to the front, on the same monitor", () => {
  const open = shown("mine", { renderer: "iframe", data: { url: "/api/apps/counter/index.html" } });
  expect(openApp(counter, "monitor-0", [open])).toEqual({ type: "window.focus", windowId: "mine" });
  expect(openApp(counter, "monitor-1", [open]).type).toBe("window.create");
  expect(openApp({ ...counter, id: "other" }, "monitor-0", [open]).type).toBe("window.create");
});

test("windows of apps and small pages can be pinned", () => {
  const app = pinWindow(shown("w", { renderer: "iframe", data: "/api/apps/counter/index.html" }), [{ ...counter, iconType: "image" }], 5);
  expect(app).toMatchObject({ type: "desktop.createShortcut", shortcut: { icon: "/api/apps/counter/icon", target: "counter", createdAt: 5 } });
  const emoji = pinWindow(shown("w", { renderer: "iframe", data: "/api/apps/counter/index.html" }), [{ ...counter, icon: "🔢", iconType: "emoji" }], 5);
  expect(emoji).toMatchObject({ shortcut: { icon: "🔢", iconType: "emoji" } });
  const page = pinWindow(shown("w", { renderer: "html", data: "<p>hi" }), [], 5);
  expect(page).toMatchObject({ shortcut: { target: "w", osActions: [{ type: "window.create", windowId: "w", content: { renderer: "html", data: "<p>hi" } }] } });
  expect(pinWindow(shown("w", { renderer: "html", data: "x".repeat(50_000) }), [], 5)).toBeUndefined();
  expect(pinWindow(shown("w", { renderer: "iframe", data: "https://example.org" }), [], 5)).toBeUndefined();
  expect(pinWindow(shown("w", { renderer: "text", data: "x" }), [], 5)).toBeUndefined();
});
