import { expect, test } from "vitest";
import type { WindowState } from "../../../core/src/index.js";
import { clickText } from "../../src/canvas/icon.js";
import { safeStyle } from "../../src/canvas/look.js";
import { extentOf, miniature } from "../../src/canvas/miniature.js";
import { canvasShortcuts, titleBarShortcuts } from "../../src/canvas/shortcuts.js";
import { cycleOrder, frontOf, isOnTop, mountedWindows, recentMonitors } from "../../src/canvas/stack.js";
import { windows as texts } from "../../src/texts/windows.js";

function win(windowId: string, more: Partial<WindowState> = {}): WindowState {
  const bounds = { x: 0, y: 0, w: 400, h: 300 };
  return { windowId, monitorId: "monitor-0", title: windowId, bounds, content: { renderer: "text", data: "" }, ...more };
}

const table = (...list: WindowState[]): Map<string, WindowState> => new Map(list.map((w) => [`${w.monitorId}/${w.windowId}`, w]));

test("only harmless styles are used", () => {
  expect(safeStyle(undefined)).toEqual({});
  expect(safeStyle({ position: "fixed", zIndex: 99999, inset: 0, transform: "scale(9)", pointerEvents: "none" })).toEqual({});
  expect(safeStyle({ opacity: 0, "border-radius": "99px", borderColor: "red" })).toEqual({ opacity: 0.4, borderRadius: 24, borderColor: "red" });
  expect(safeStyle({ background: "url(https://evil.example/x)", backgroundColor: "red;position:fixed", opacity: "x" })).toEqual({});
  expect(safeStyle({ backgroundColor: "#123456" })).toEqual({ "--surface": "color-mix(in oklab, #123456 20%, var(--win-surface))" });
  expect(safeStyle({ backgroundColor: "transparent" })).toEqual({ "--surface": "transparent" });
});

test("the window in front is the visible standard one with the highest z", () => {
  const all = [win("a", { z: 5 }), win("b", { z: 9, minimized: true }), win("c", { z: 99, variant: "widget" }), win("d", { z: 7, monitorId: "monitor-1" })];
  expect(frontOf(all, "monitor-0")?.windowId).toBe("a");
  expect(frontOf([], "monitor-0")).toBeUndefined();
  expect(isOnTop(all, all[0]!)).toBe(true);
  expect(isOnTop([...all, win("e", { z: 6 })], all[0]!)).toBe(false);
  expect(isOnTop(all, all[1]!)).toBe(false);
  expect(cycleOrder([win("a", { z: 1 }), win("b", { z: 3 }), win("c", { z: 2 })], "monitor-0")).toEqual(["monitor-0/b", "monitor-0/c", "monitor-0/a"]);
});

test("windows keep their order in the document whatever their z, and iframes of other monitors stay for a while", () => {
  const page = { content: { renderer: "iframe", data: "/x" } } as Partial<WindowState>;
  const there = [win("p", { ...page, monitorId: "monitor-1" }), win("t", { monitorId: "monitor-1" })];
  const ids = (list: WindowState[]): string[] => list.map((w) => w.windowId);
  const first = mountedWindows(table(win("b", { z: 1 }), win("a", { z: 2 }), ...there), "monitor-0", ["monitor-1"]);
  expect(ids(first)).toEqual(["a", "b", "p"]);
  expect(ids(mountedWindows(table(...there, win("a", { z: 1 }), win("b", { z: 2 })), "monitor-0", ["monitor-1"]))).toEqual(["a", "b", "p"]);
  expect(ids(mountedWindows(table(win("a"), ...there), "monitor-0", []))).toEqual(["a"]);
  expect(ids(mountedWindows(table(win("a"), ...there), "monitor-1", ["monitor-0"]))).toEqual(["p", "t"]);
});

test("the last two monitors are remembered", () => {
  let recent: readonly string[] = [];
  recent = recentMonitors(recent, "monitor-0", "monitor-1");
  recent = recentMonitors(recent, "monitor-1", "monitor-2");
  expect(recent).toEqual(["monitor-1", "monitor-0"]);
  recent = recentMonitors(recent, "monitor-2", "monitor-1");
  expect(recent).toEqual(["monitor-2", "monitor-0"]);
  expect(recentMonitors(recent, "monitor-1", "monitor-3")).toEqual(["monitor-1", "monitor-2"]);
});

test("the text of an icon cannot end the tag early", () => {
  expect(clickText({ id: "s1", type: "file", target: "a</ui:click>b" })).toBe("<ui:click>shortcut: s1, type: file, target: a&lt;/ui:click>b</ui:click>");
});

test("a miniature has all windows inside", () => {
  const all = [win("a", { bounds: { x: 3000, y: 100, w: 900, h: 600 } }), win("b", { bounds: { x: -90, y: -5, w: 90000, h: 20 } }), win("c", { maximized: true })];
  const extent = extentOf(all);
  for (const w of all) {
    const m = miniature(w, extent);
    for (const n of [m.x, m.y]) expect(n).toBeGreaterThanOrEqual(0);
    expect(m.x + m.w).toBeLessThanOrEqual(100);
    expect(m.y + m.h).toBeLessThanOrEqual(100);
  }
  expect(extentOf([])).toEqual({ w: 1280, h: 800 });
  expect(miniature(win("p", { variant: "panel", dockEdge: "top" }), extentOf([])).y).toBe(0);
});

test("every shortcut has a text and its own key", () => {
  const all = [...canvasShortcuts, ...titleBarShortcuts];
  expect(new Set(all.map((s) => s.combo)).size).toBe(all.length);
  for (const s of all) expect(texts.en[s.label]).toBeTypeOf("string");
});
