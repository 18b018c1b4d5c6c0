// Where the overview draws windows: all of them, smaller, none covers another. Pure.

import type { Bounds, WindowState } from "../../../core/src/index.js";
import type { Size } from "./geometry.js";
import type { WindowManager } from "./manager.js";
import { keyOf } from "./stack.js";

/** The space around windows in the overview; their titles are below them. */
const space = 28;
const titleSpace = 30;

export function overviewLayout(windows: readonly WindowState[], manager: WindowManager): Map<string, Bounds> {
  const sizes = windows.map((w) => ({ key: keyOf(w), ...manager.drawnBounds(w) }));
  sizes.sort((a, b) => a.y - b.y || a.x - b.x);
  return gridLayout(sizes, manager.area());
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
