// Where the overview draws windows: all of them, smaller, none covers another. Pure.

import type { Bounds, WindowState } from "../../../core/src/index.js";
import type { Size } from "./geometry.js";
import type { WindowManager } from "./manager.js";
import { keyOf } from "./stack.js";

/** The space around windows in the overview; their titles are below them. */
const space = 28;
const titleSpace = 30;

/** The windows of a group keep their places beside each other. */
export function overviewLayout(windows: readonly WindowState[], manager: WindowManager): Map<string, Bounds> {
  const groups = new Map<string, readonly WindowState[]>();
  const placed = new Set<WindowState>();
  for (const w of windows) {
    if (placed.has(w)) continue;
    const group = (manager.groups?.of(w) ?? []).filter((o) => !placed.has(o));
    groups.set(keyOf(w), group.length > 1 ? group : [w]);
    for (const o of groups.get(keyOf(w))!) placed.add(o);
  }
  const sizes = [...groups].map(([key, group]) => ({ key, ...around(group.map((w) => manager.drawnBounds(w))) }));
  sizes.sort((a, b) => a.y - b.y || a.x - b.x);
  const out = new Map<string, Bounds>();
  const slots = gridLayout(sizes, manager.area());
  for (const group of sizes) {
    const slot = slots.get(group.key)!;
    const scale = slot.w / group.w;
    for (const w of groups.get(group.key)!) {
      const b = manager.drawnBounds(w);
      out.set(keyOf(w), { x: slot.x + (b.x - group.x) * scale, y: slot.y + (b.y - group.y) * scale, w: b.w * scale, h: b.h * scale });
    }
  }
  return out;
}

/** The smallest bounds that contain all of some. */
export function around(all: readonly Bounds[]): Bounds {
  const x = Math.min(...all.map((b) => b.x));
  const y = Math.min(...all.map((b) => b.y));
  return { x, y, w: Math.max(...all.map((b) => b.x + b.w)) - x, h: Math.max(...all.map((b) => b.y + b.h)) - y };
}

/** Cells of a grid, each with one window in its proportions. */
export function gridLayout(windows: readonly (Size & { key: string })[], area: Bounds): Map<string, Bounds> {
  const out = new Map<string, Bounds>();
  let best = { columns: 1, scale: 0 };
  for (let columns = 1; columns <= windows.length; columns++) {
    const cell = cellOf(columns, Math.ceil(windows.length / columns), area);
    const scale = windows.reduce((sum, w) => sum + Math.min(1, cell.w / w.w, cell.h / w.h), 0);
    if (scale > best.scale) best = { columns, scale };
  }
  const rows = Math.ceil(windows.length / best.columns);
  const cell = cellOf(best.columns, rows, area);
  for (const [n, w] of windows.entries()) {
    const row = Math.floor(n / best.columns);
    const inRow = row === rows - 1 ? windows.length - row * best.columns : best.columns;
    const scale = Math.min(1, cell.w / w.w, cell.h / w.h);
    // The last row is centred.
    const shift = ((best.columns - inRow) * (cell.w + space)) / 2;
    const x = area.x + space + shift + (n % best.columns) * (cell.w + space);
    const y = area.y + space + row * (cell.h + space + titleSpace);
    out.set(w.key, { x: Math.round(x + (cell.w - w.w * scale) / 2), y: Math.round(y + (cell.h - w.h * scale) / 2), w: w.w * scale, h: w.h * scale });
  }
  return out;
}

function cellOf(columns: number, rows: number, area: Bounds): Size {
  return {
    w: Math.max(40, (area.w - space * (columns + 1)) / columns),
    h: Math.max(30, (area.h - space * (rows + 1) - titleSpace * rows) / rows),
  };
}
