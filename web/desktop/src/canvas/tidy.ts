// Tidy layouts: windows in rows, none covers another. Pure.

import type { Bounds, WindowState } from "../../../core/src/index.js";
import { gap, minSizeOf } from "./geometry.js";

export interface Item {
  readonly key: string;
  /** Where the window is drawn now: its order and its size in the layout come from it. */
  readonly bounds: Bounds;
  readonly variant?: WindowState["variant"];
}

/** How much larger windows become at most to fill the area. */
const maxGrow = 1.5;

function leastHeight(row: Row): number {
  return Math.max(...row.items.map((i) => minSizeOf(i).h));
}

/** The cost of rows in which windows do not fit side by side, or that do not fit below each other. */
const tooNarrow = 1000;

interface Row {
  readonly items: readonly Item[];
  readonly w: number;
  readonly h: number;
}

/** The places of windows in rows, in the order in which they are read now. */
export function tidyLayout(items: readonly Item[], area: Bounds): Map<string, Bounds> {
  if (items.length === 0 || area.w <= 0 || area.h <= 0) return new Map();
  const sorted = inReadingOrder(items);
  let best: readonly Row[] = [];
  let least = Number.POSITIVE_INFINITY;
  for (let count = 1; count <= sorted.length; count++) {
    const rows = splitRows(sorted, count);
    const cost = distortion(rows, area);
    if (cost < least) [best, least] = [rows, cost];
  }
  return place(best, area);
}

/** Windows whose tops are near each other are in one row, from left to right. */
function inReadingOrder(items: readonly Item[]): Item[] {
  const byTop = [...items].sort((a, b) => a.bounds.y - b.bounds.y || a.bounds.x - b.bounds.x || (a.key < b.key ? -1 : 1));
  const out: Item[] = [];
  while (byTop.length > 0) {
    const first = byTop[0]!;
    const near = byTop.filter((i) => i.bounds.y < first.bounds.y + first.bounds.h / 2);
    near.sort((a, b) => a.bounds.x - b.bounds.x || a.bounds.y - b.bounds.y);
    out.push(...near);
    for (const i of near) byTop.splice(byTop.indexOf(i), 1);
  }
  return out;
}

/** Splits windows into rows of about the same width. */
function splitRows(items: readonly Item[], count: number): Row[] {
  const total = items.reduce((sum, i) => sum + i.bounds.w, 0);
  const rows: Item[][] = [[]];
  let before = 0;
  for (const [n, item] of items.entries()) {
    const row = rows.at(-1)!;
    const full = before + item.bounds.w / 2 >= (total / count) * rows.length;
    const enough = items.length - n <= count - rows.length;
    if (row.length > 0 && rows.length < count && (full || enough)) rows.push([item]);
    else row.push(item);
    before += item.bounds.w;
  }
  return rows.map((row) => ({ items: row, w: row.reduce((sum, i) => sum + i.bounds.w, 0), h: Math.max(...row.map((i) => i.bounds.h)) }));
}

/** How much the sizes of the windows would change, and how little the whole has the shape of the area. */
function distortion(rows: readonly Row[], area: Bounds): number {
  const fy = Math.min(heightFactor(rows, area), maxGrow);
  const widest = widestOf(rows, area);
  const count = rows.reduce((sum, r) => sum + r.items.length, 0);
  let cost = rows.reduce((sum, r) => sum + leastHeight(r) + gap, gap) > area.h ? tooNarrow : 0;
  for (const row of rows) {
    if (row.items.reduce((sum, i) => sum + minSizeOf(i).w + gap, gap) > area.w) cost += tooNarrow;
    const fx = (widest - gap * (row.items.length - 1)) / row.w;
    for (const i of row.items) cost += price(fx, (row.h * fy) / i.bounds.h) / count;
  }
  const shape = (widest * area.h) / (heightOf(rows, fy) * area.w);
  return cost + Math.abs(Math.log(shape)) / 2;
}

/** The cost of other proportions, and of being smaller. */
function price(fx: number, fy: number): number {
  return Math.abs(Math.log(fx / fy)) - 3 * Math.min(0, Math.log(fx)) - 3 * Math.min(0, Math.log(fy));
}

/** The width of all rows, so that their edges are in line: that of the widest. */
function widestOf(rows: readonly Row[], area: Bounds): number {
  return Math.max(...rows.map((r) => r.w * Math.min(widthFactor(r, area), maxGrow) + gap * (r.items.length - 1)));
}

function heightOf(rows: readonly Row[], fy: number): number {
  return rows.reduce((sum, r) => sum + r.h * fy, 0) + gap * (rows.length - 1);
}

function widthFactor(row: Row, area: Bounds): number {
  return (area.w - gap * (row.items.length + 1)) / row.w;
}

function heightFactor(rows: readonly Row[], area: Bounds): number {
  return (area.h - gap * (rows.length + 1)) / rows.reduce((sum, r) => sum + r.h, 0);
}

interface Part {
  readonly size: number;
  readonly least: number;
}

/** Divides a length in proportion to the sizes of parts, none of which becomes smaller than its least size. */
function share(parts: readonly Part[], room: number): number[] {
  const fixed = new Set<Part>();
  for (;;) {
    const left = room - parts.reduce((sum, p) => sum + (fixed.has(p) ? p.least : 0), 0);
    const wanted = parts.reduce((sum, p) => sum + (fixed.has(p) ? 0 : p.size), 0);
    const sized = (p: Part): number => (fixed.has(p) ? p.least : (p.size * left) / wanted);
    const small = parts.filter((p) => !fixed.has(p) && sized(p) < p.least);
    if (small.length === 0) return parts.map(sized);
    for (const p of small) fixed.add(p);
  }
}

/** Fills the area with the rows. What is left because windows grow only so much is around them. */
function place(rows: readonly Row[], area: Bounds): Map<string, Bounds> {
  const out = new Map<string, Bounds>();
  const fy = Math.min(heightFactor(rows, area), maxGrow);
  const widest = widestOf(rows, area);
  const height = heightOf(rows, fy);
  const left = area.x + Math.max(gap, (area.w - widest) / 2);
  let y = area.y + Math.max(gap, (area.h - height) / 3);
  const heights = share(rows.map((r) => ({ size: r.h, least: leastHeight(r) })), height - gap * (rows.length - 1));
  for (const [r, row] of rows.entries()) {
    const widths = share(row.items.map((i) => ({ size: i.bounds.w, least: minSizeOf(i).w })), widest - gap * (row.items.length - 1));
    const h = heights[r]!;
    let x = left;
    for (const [n, item] of row.items.entries()) {
      const w = widths[n]!;
      const least = minSizeOf(item);
      const [right, bottom] = [Math.round(x + w), Math.round(y + h)];
      const widgetHeight = Math.min(h, item.bounds.h);
      out.set(item.key, {
        x: Math.round(x),
        y: Math.round(y),
        w: right - Math.round(x),
        h: item.variant === "widget" ? Math.max(least.h, Math.round(widgetHeight)) : bottom - Math.round(y),
      });
      x += w + gap;
    }
    y += h + gap;
  }
  return out;
}
