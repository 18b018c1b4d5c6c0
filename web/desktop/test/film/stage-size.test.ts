import { expect, it } from "vitest";
import type { WindowState } from "../../../core/src/index.js";
import { stageSize } from "../../src/film/stage-size.js";

const win = (x: number, y: number, w: number, h: number, more: Partial<WindowState> = {}): WindowState => ({ bounds: { x, y, w, h }, ...more }) as WindowState;
const stage = { w: 1060, h: 740 };

it("a desktop whose windows fit on the stage has the size of the stage", () => {
  expect(stageSize([win(20, 20, 600, 400)], stage)).toEqual(stage);
  expect(stageSize([], stage)).toEqual(stage);
});

it("a desktop contains all windows, in the proportions of the stage", () => {
  for (const windows of [[win(1000, 20, 700, 300)], [win(20, 900, 300, 500)], [win(1500, 1200, 300, 300)]]) {
    const { w, h } = stageSize(windows, stage);
    expect(w / h, "proportions").toBeCloseTo(stage.w / stage.h);
    for (const { bounds: b } of windows) {
      expect(w, "width").toBeGreaterThan(b.x + b.w);
      expect(h, "height").toBeGreaterThan(b.y + b.h);
    }
  }
});

it("a large stage draws the desktop larger than life, and a phone not a single small window alone", () => {
  expect(stageSize([win(20, 20, 300, 200)], { w: 3360, h: 2100 })).toEqual({ w: 1280, h: 800 });
  expect(stageSize([win(0, 0, 200, 100)], { w: 390, h: 390 })).toEqual({ w: 640, h: 640 });
});

it("a window far outside, a maximised one and a panel do not make the desktop small", () => {
  expect(stageSize([win(0, 0, 9000, 9000, { maximized: true }), win(0, 5000, 9000, 40, { variant: "panel" })], stage)).toEqual(stage);
  expect(stageSize([win(90_000, 0, 300, 200)], stage).w).toBe(5120);
});

it("a stage that has not been measured has a size, too", () => {
  expect(stageSize([], { w: 0, h: 0 })).toEqual({ w: 1280, h: 800 });
});
