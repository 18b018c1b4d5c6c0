import { describe, expect, test } from "vitest";
import type { Bounds, WindowState } from "../../../core/src/index.js";
import { WindowHistory } from "../../src/canvas/history.js";
import { AgentLayouts, fitScaled, type Scale } from "../../src/canvas/layout.js";
import { nearestInDirection } from "../../src/canvas/nearest.js";
import { gridLayout } from "../../src/canvas/overview-layout.js";
import { type Item, tidyLayout } from "../../src/canvas/tidy.js";

const screens = { "1024×700": { x: 0, y: 0, w: 1024, h: 590 }, "1280×720 beside a conversation": { x: 0, y: 0, w: 960, h: 612 }, "1440×900": { x: 0, y: 0, w: 1440, h: 790 }, "4K": { x: 0, y: 0, w: 3460, h: 2052 } };

/** A number generator with a fixed seed. */
function random(seed: number): () => number {
  let n = seed;
  return () => (n = (n * 16807) % 2147483647) / 2147483647;
}

function overlapping(bounds: readonly Bounds[]): number {
  let count = 0;
  for (const [i, a] of bounds.entries())
    for (const b of bounds.slice(i + 1)) if (a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h) count++;
  return count;
}

function inside(b: Bounds, area: Bounds): boolean {
  return b.x >= area.x && b.y >= area.y && b.x + b.w <= area.x + area.w && b.y + b.h <= area.y + area.h;
}

describe.each(Object.entries(screens))("on %s", (_, area) => {
  test("tidy windows are inside the screen and cover nothing", () => {
    const next = random(7);
    for (let count = 1; count <= 9; count++) {
      const items = Array.from({ length: count }, (_, n): Item => ({ key: `w${n}`, bounds: { x: next() * 900, y: next() * 500, w: 240 + next() * 500, h: 160 + next() * 400 } }));
      const layout = [...tidyLayout(items, area).values()];
      expect(layout).toHaveLength(count);
      expect(layout.filter((b) => !inside(b, area))).toEqual([]);
      expect(overlapping(layout)).toBe(0);
    }
  });

  test("the overview has room for every window and keeps its proportions", () => {
    const next = random(11);
    for (let count = 1; count <= 20; count++) {
      const windows = Array.from({ length: count }, (_, n) => ({ key: `w${n}`, w: 200 + next() * 900, h: 120 + next() * 600 }));
      const layout = gridLayout(windows, area);
      expect(overlapping([...layout.values()])).toBe(0);
      for (const w of windows) {
        const b = layout.get(w.key)!;
        expect(inside(b, area)).toBe(true);
        expect(b.w / b.h).toBeCloseTo(w.w / w.h, 1);
      }
    }
  });

  test("a layout for a desktop of 1040×700 does not overlap", () => {
    const scene: Bounds[] = [
      { x: 24, y: 24, w: 416, h: 440 },
      { x: 456, y: 24, w: 560, h: 312 },
      { x: 456, y: 352, w: 272, h: 308 },
      { x: 744, y: 352, w: 272, h: 308 },
      { x: 24, y: 480, w: 416, h: 180 },
    ];
    const windows = scene.map((bounds, n) => win(`w${n}`, bounds));
    const scale = layoutScale(windows, area);
    const drawn = scene.map((b) => fitScaled(b, area, { w: 240, h: 120 }, scale));
    expect(overlapping(drawn)).toBe(0);
    expect(drawn.filter((b) => !inside(b, area))).toEqual([]);
    if (area.w >= 1024 && area.h >= 700 && area.w <= 1920) expect(drawn).toEqual(scene);
  });
});

function win(windowId: string, bounds: Bounds, more: Partial<WindowState> = {}): WindowState {
  return { windowId, monitorId: "monitor-0", title: windowId, bounds, content: { renderer: "text", data: "" }, ...more };
}

test("tidy windows keep their order and their size where there is room", () => {
  const area = { x: 0, y: 0, w: 1040, h: 400 };
  const layout = tidyLayout([{ key: "right", bounds: { x: 500, y: 12, w: 500, h: 384 } }, { key: "left", bounds: { x: 10, y: 40, w: 500, h: 384 } }], area);
  const [left, right] = [layout.get("left")!, layout.get("right")!];
  expect(left.x).toBeLessThan(right.x);
  expect(left.y).toBe(right.y);
  expect(left.h).toBe(right.h);
  expect(Math.abs(left.w - 500)).toBeLessThan(20);
});

test("windows that a person placed and windows far outside do not scale a layout", () => {
  const area = { x: 0, y: 0, w: 1000, h: 700 };
  const one = win("a", { x: 100, y: 100, w: 400, h: 300 });
  expect(layoutScale([one, win("b", { x: 800, y: 10, w: 400, h: 300 }, { placed: true })], area)).toEqual(unscaled);
  expect(layoutScale([one, win("b", { x: 90000, y: 10, w: 400, h: 300 })], area)).toEqual(unscaled);
  expect(layoutScale([one, win("b", { x: 800, y: 10, w: 400, h: 300 })], area).x).toBeCloseTo(992 / 1200, 5);
});

const unscaled: Scale = { x: 1, y: 1, dx: 0, dy: 0 };

const layoutScale = (windows: readonly WindowState[], area: Bounds): Scale => new AgentLayouts().scale(windows, "monitor-0", area);

describe("on a large screen", () => {
  const left = win("left", { x: 24, y: 24, w: 400, h: 600 });
  const right = win("right", { x: 440, y: 24, w: 576, h: 600 });

  test.each([
    ["4K", { x: 0, y: 0, w: 3440, h: 2040 }, 1.6],
    ["1440p, below a panel", { x: 0, y: 40, w: 2400, h: 1290 }, 1290 / 1080],
    ["wide", { x: 0, y: 0, w: 3440, h: 1200 }, 1200 / 1080],
    ["usual", { x: 0, y: 0, w: 1920, h: 1080 }, 1],
  ])("%s: a layout is larger and in the middle", (_, area, growth) => {
    const scale = layoutScale([left, right], area);
    expect([scale.x, scale.y]).toEqual([growth, growth]);
    const [a, b] = [left, right].map((w) => fitScaled(w.bounds, area, { w: 240, h: 120 }, scale)) as [Bounds, Bounds];
    if (growth === 1) return expect([a, b]).toEqual([left.bounds, right.bounds]);
    expect(Math.abs(a.x - area.x - (area.x + area.w - b.x - b.w))).toBeLessThanOrEqual(2);
    expect(Math.abs(a.y - area.y - (area.y + area.h - a.y - a.h))).toBeLessThanOrEqual(2);
    expect(b.x - a.x - a.w).toBeCloseTo(16 * growth, -0.5);
  });

  test("a layout that uses the whole screen is not larger, one for an even larger screen is smaller", () => {
    const area = { x: 0, y: 0, w: 3440, h: 2040 };
    expect(layoutScale([left, win("far", { x: 2800, y: 1500, w: 600, h: 500 })], area)).toMatchObject({ x: 1, y: 1 });
    expect(layoutScale([left, win("far", { x: 3800, y: 100, w: 600, h: 500 })], area).x).toBeLessThan(1);
  });

  test("other windows stay where they are when a person moves one; an agent or a closed window changes the layout", () => {
    const area = { x: 0, y: 0, w: 3440, h: 2040 };
    const layouts = new AgentLayouts();
    const scaleOf = (...windows: WindowState[]): Scale => layouts.scale(windows, "monitor-0", area);
    const first = scaleOf(left, right);
    expect(scaleOf(left, { ...right, bounds: { x: 3000, y: 900, w: 400, h: 300 }, placed: true })).toEqual(first);
    expect(scaleOf(left, { ...right, bounds: { x: 900, y: 24, w: 576, h: 600 } })).not.toEqual(first);
    expect(scaleOf(left)).toEqual(unscaled);
  });
});

test("arrow keys go to the nearest window in their direction", () => {
  const box = (left: number, top: number) => ({ left, top, width: 100, height: 80 });
  const boxes = [box(0, 0), box(120, 10), box(0, 100), box(130, 110)];
  expect(["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "End", "x"].map((key) => nearestInDirection(key, boxes, 0))).toEqual([1, 2, undefined, undefined, 3, undefined]);
  expect(nearestInDirection("ArrowUp", boxes, 3)).toBe(1);
  expect(nearestInDirection("ArrowRight", boxes, -1)).toBe(0);
});

describe("the history of windows", () => {
  const place = (x: number) => ({ bounds: { x, y: 0, w: 10, h: 10 }, maximized: false });

  test("one window that is moved by a held key is one step", () => {
    const h = new WindowHistory();
    h.addPlaced(new Map([["a", place(1)]]), 1000);
    h.addPlaced(new Map([["a", place(2)]]), 1500);
    h.addPlaced(new Map([["a", place(3)]]), 9000);
    h.addPlaced(new Map([["b", place(4)]]), 9100);
    expect([h.pop(), h.pop(), h.pop(), h.pop()].map((s) => (s !== undefined && "placed" in s ? [...s.placed.values()][0]!.bounds.x : undefined))).toEqual([4, 3, 1, undefined]);
    expect(h.isEmpty).toBe(true);
  });

  test("it keeps the newest windows that were closed, and none that is open again or whose monitor is gone", () => {
    const h = new WindowHistory();
    const bounds = { x: 0, y: 0, w: 1, h: 1 };
    const all = new Map(Array.from({ length: 30 }, (_, n) => [`monitor-0/w${n}`, win(`w${n}`, bounds)]));
    all.set("monitor-1/x", win("x", bounds, { monitorId: "monitor-1" }));
    const monitors = new Map([["monitor-0", {}]]);
    h.follow(new Map(), all, monitors);
    expect(h.closed).toHaveLength(20);
    h.follow(new Map([["monitor-0/w29", win("w29", bounds)]]), new Map(), monitors);
    expect(h.popClosed("monitor-0")?.windowId).toBe("w28");
    expect(h.popClosed("monitor-1")).toBeUndefined();
  });
});
