import { expect, test } from "vitest";
import type { Bounds, WindowState } from "../../../core/src/index.js";
import { type Edge, edges, fitInside, fitReachable, gap, keyStep, minSizes, minTitleVisible, moved, panelBounds, resized, restoredUnderPointer, type Size, titleHeight, workArea, zoneAt, zoneBounds, zoneOf, zones } from "../../src/canvas/geometry.js";

const area: Bounds = { x: 0, y: 0, w: 1000, h: 700 };
const least = minSizes.standard;

/** A deterministic random number generator. */
function numbers(seed: number): (low: number, high: number) => number {
  let s = seed;
  return (low, high) => {
    s = (s * 1103515245 + 12345) % 2147483648;
    return Math.round(low + (s / 2147483648) * (high - low));
  };
}

function panel(windowId: string, dockEdge: "top" | "bottom", h: number): WindowState {
  return { windowId, monitorId: "monitor-0", title: "", bounds: { x: 0, y: 0, w: 0, h }, content: { renderer: "text", data: "" }, variant: "panel", dockEdge };
}

test("a window that fits is drawn at its bounds", () => {
  const b = { x: 40, y: 30, w: 400, h: 300 };
  expect(fitReachable(b, area, least)).toEqual(b);
});

test("a window from a larger screen is drawn wholly inside", () => {
  expect(fitReachable({ x: 1800, y: 900, w: 500, h: 400 }, area, least)).toEqual({ x: 500, y: 300, w: 500, h: 400 });
  expect(fitReachable({ x: -900, y: -300, w: 500, h: 400 }, area, least)).toEqual({ x: 0, y: 0, w: 500, h: 400 });
  expect(fitReachable({ x: 10, y: 10, w: 5000, h: 4000 }, area, least)).toEqual({ x: 10, y: 10, w: 1000, h: 700 });
});

test("a window that the user has not placed is wholly inside", () => {
  expect(fitInside({ x: 100, y: 260, w: 400, h: 528 }, area, least)).toEqual({ x: 100, y: 172, w: 400, h: 528 });
  expect(fitInside({ x: 900, y: -20, w: 400, h: 300 }, area, least)).toEqual({ x: 600, y: 0, w: 400, h: 300 });
  expect(fitInside({ x: 10, y: 10, w: 5000, h: 4000 }, area, least)).toEqual(area);
  expect(fitInside({ x: 50, y: 50, w: 400, h: 300 }, { x: 0, y: 40, w: 200, h: 100 }, least)).toEqual({ x: 0, y: 40, w: 240, h: 120 });
});

test("wherever a window is, its title bar can be dragged", () => {
  const n = numbers(7);
  for (let i = 0; i < 2000; i++) {
    const room: Bounds = { x: 0, y: n(0, 80), w: n(300, 2000), h: n(200, 1400) };
    const b = fitReachable({ x: n(-9000, 9000), y: n(-9000, 9000), w: n(-50, 4000), h: n(-50, 4000) }, room, least);
    const seen = Math.min(b.x + b.w, room.x + room.w) - Math.max(b.x, room.x);
    expect(seen).toBeGreaterThanOrEqual(Math.min(minTitleVisible, b.w));
    expect(b.y).toBeGreaterThanOrEqual(room.y);
    expect(b.y).toBeLessThanOrEqual(room.y + Math.max(0, room.h - titleHeight));
    expect(fitReachable(b, room, least), "drawing is at rest after one step").toEqual(b);
  }
});

test("a moved window is drawn where it was moved to", () => {
  const n = numbers(11);
  for (let i = 0; i < 2000; i++) {
    const from = fitReachable({ x: n(0, 900), y: n(0, 600), w: n(240, 900), h: n(120, 600) }, area, least);
    const b = moved(from, n(-3000, 3000), n(-3000, 3000), area);
    expect(fitReachable(b, area, least)).toEqual(b);
    expect([b.w, b.h]).toEqual([from.w, from.h]);
  }
});

test("edges that are not moved stay, and no window becomes too small", () => {
  const n = numbers(13);
  for (let i = 0; i < 2000; i++) {
    const from = fitReachable({ x: n(0, 700), y: n(0, 500), w: n(240, 900), h: n(120, 600) }, area, least);
    const edge = edges[n(0, edges.length - 1)] as Edge;
    const b = resized(from, edge, n(-2000, 2000), n(-2000, 2000), area, least);
    expect(b.w).toBeGreaterThanOrEqual(least.w);
    expect(b.h).toBeGreaterThanOrEqual(least.h);
    expect(b.y).toBeGreaterThanOrEqual(area.y);
    if (!edge.includes("w")) expect(b.x).toBe(from.x);
    else expect(b.x + b.w).toBe(from.x + from.w);
    if (!edge.includes("n")) expect(b.y).toBe(from.y);
    else expect(b.y + b.h).toBe(from.y + from.h);
    if (edge === "n" || edge === "s") expect(b.w).toBe(from.w);
    if (edge === "e" || edge === "w") expect(b.h).toBe(from.h);
  }
});

test("a pointer at an edge selects a half, at a corner a quarter, at the top everything", () => {
  expect(zoneAt(3, 350, area)).toBe("left");
  expect(zoneAt(999, 350, area)).toBe("right");
  expect(zoneAt(500, 2, area)).toBe("full");
  expect(zoneAt(500, -40, area)).toBe("full");
  expect(zoneAt(3, 20, area)).toBe("top-left");
  expect(zoneAt(40, 2, area)).toBe("top-left");
  expect(zoneAt(960, 698, area)).toBe("bottom-right");
  expect(zoneAt(998, 690, area)).toBe("bottom-right");
  expect(zoneAt(500, 699, area)).toBeUndefined();
  expect(zoneAt(500, 350, area)).toBeUndefined();
  expect(zoneAt(40, 40, area)).toBeUndefined();
});

test("zones are inside the area, do not overlap, and are recognized", () => {
  for (const room of [area, { x: 0, y: 48, w: 1235, h: 801 }]) {
    for (const zone of zones) {
      const b = zoneBounds(zone, room);
      expect(b.x).toBeGreaterThanOrEqual(room.x);
      expect(b.y).toBeGreaterThanOrEqual(room.y);
      expect(b.x + b.w).toBeLessThanOrEqual(room.x + room.w);
      expect(b.y + b.h).toBeLessThanOrEqual(room.y + room.h);
      if (zone !== "full") expect(zoneOf(b, room)).toBe(zone);
      expect(fitReachable(b, room, { w: 1, h: 1 } satisfies Size)).toEqual(b);
    }
    const left = zoneBounds("left", room);
    expect(zoneBounds("right", room).x - (left.x + left.w)).toBeGreaterThanOrEqual(gap - 1);
  }
});

test("a window that gets its size back stays under the pointer", () => {
  const b = restoredUnderPointer({ w: 400, h: 300 }, area, 750, 12);
  expect(b).toEqual({ x: 450, y: 0, w: 400, h: 300 });
  expect(restoredUnderPointer({ w: 400, h: 300 }, area, 1000, 30).x).toBe(600);
});

test("panels are stacked at their edges, and the rest is the work area", () => {
  const canvas = { w: 1000, h: 700 };
  const panels = [panel("a", "top", 60), panel("b", "bottom", 9000), panel("c", "top", 5)];
  expect(panelBounds(panels[0]!, canvas, panels)).toEqual({ x: 0, y: 0, w: 1000, h: 60 });
  expect(panelBounds(panels[2]!, canvas, panels)).toEqual({ x: 0, y: 60, w: 1000, h: 40 });
  expect(panelBounds(panels[1]!, canvas, panels)).toEqual({ x: 0, y: 467, w: 1000, h: 233 });
  expect(workArea(canvas, panels)).toEqual({ x: 0, y: 100, w: 1000, h: 367 });
  expect(workArea(canvas, [])).toEqual(area);
});

test("keys move by 16 px, with Ctrl by 1 px", () => {
  expect(keyStep({ key: "ArrowLeft", ctrlKey: false })).toEqual({ dx: -16, dy: 0 });
  expect(keyStep({ key: "ArrowDown", ctrlKey: true })).toEqual({ dx: 0, dy: 1 });
  expect(keyStep({ key: "a", ctrlKey: false })).toBeUndefined();
});
