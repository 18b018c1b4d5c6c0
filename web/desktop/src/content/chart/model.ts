// What a chart draws: bars, lines, slices and points at positions in pixels. Pure.

import type { ChartContent } from "../../../../core/src/index.js";
import { type Axis, axisOf, positionOf } from "./scale.js";

export type Chart = ChartContent["data"];

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** A point of a line, area or scatter chart, or the end of a bar. */
export interface Mark {
  readonly series: number;
  /** The index of its label, or of its point. */
  readonly index: number;
  readonly x: number;
  readonly y: number;
}

export interface Bar extends Mark, Box {}

/** The values of the visible series, one below the other if they are stacked. */
export interface Level {
  readonly series: number;
  readonly from: readonly number[];
  readonly to: readonly number[];
}

export function levelsOf(chart: Chart, visible: readonly number[]): Level[] {
  const count = chart.labels?.length ?? 0;
  const above = new Array<number>(count).fill(0);
  const below = new Array<number>(count).fill(0);
  return visible.map((series) => {
    const values = chart.series[series]?.values ?? [];
    if (chart.stacked !== true) return { series, from: new Array<number>(count).fill(0), to: Array.from({ length: count }, (_, i) => values[i] ?? 0) };
    const from: number[] = [];
    const to: number[] = [];
    for (let i = 0; i < count; i++) {
      const v = values[i] ?? 0;
      const sums = v < 0 ? below : above;
      from.push(sums[i]!);
      sums[i] = sums[i]! + v;
      to.push(sums[i]!);
    }
    return { series, from, to };
  });
}

/** The vertical axis of a chart with labels. */
export function valueAxis(chart: Chart, levels: readonly Level[], count: number): Axis {
  const values = levels.flatMap((l) => l.to);
  return axisOf(values, count, chart.kind !== "line");
}

/** The middle of each label on the horizontal axis. Lines go from edge to edge; bars have bands. */
export function labelPosition(chart: Chart, i: number, plot: Box): number {
  const count = chart.labels?.length ?? 0;
  if (chart.kind === "bar" || count < 2) return plot.x + ((i + 0.5) * plot.w) / Math.max(count, 1);
  return plot.x + (i * plot.w) / (count - 1);
}

/** The index of the label nearest to a position. */
export function labelAt(chart: Chart, x: number, plot: Box): number {
  const count = chart.labels?.length ?? 0;
  const part = (x - plot.x) / plot.w;
  const i = chart.kind === "bar" || count < 2 ? Math.floor(part * count) : Math.round(part * (count - 1));
  return Math.max(0, Math.min(count - 1, i));
}

/** The part of its band that a group of bars fills, and the most that one bar is wide. */
const bandPart = 0.72;
const maxBar = 72;

export function barsOf(chart: Chart, levels: readonly Level[], axis: Axis, plot: Box): Bar[] {
  const count = chart.labels?.length ?? 0;
  const side = chart.stacked === true ? 1 : Math.max(1, levels.length);
  const width = Math.max(1, Math.min((plot.w / Math.max(count, 1)) * bandPart, maxBar * side) / side);
  const bars: Bar[] = [];
  for (const [n, level] of levels.entries()) {
    for (let i = 0; i < count; i++) {
      const middle = labelPosition(chart, i, plot);
      const left = chart.stacked === true ? middle - width / 2 : middle + (n - levels.length / 2) * width;
      const a = positionOf(level.from[i]!, axis, plot.y + plot.h, plot.y);
      const b = positionOf(level.to[i]!, axis, plot.y + plot.h, plot.y);
      const inset = side > 1 && width > 6 ? 1 : 0;
      bars.push({ series: level.series, index: i, x: left + inset, y: Math.min(a, b), w: width - 2 * inset, h: Math.max(Math.abs(a - b), 1) });
    }
  }
  return bars;
}

export function linesOf(chart: Chart, levels: readonly Level[], axis: Axis, plot: Box): { series: number; top: Mark[]; bottom: Mark[] }[] {
  return levels.map((level) => {
    const at = (v: number, index: number): Mark => ({ series: level.series, index, x: labelPosition(chart, index, plot), y: positionOf(v, axis, plot.y + plot.h, plot.y) });
    return { series: level.series, top: level.to.map(at), bottom: level.from.map(at) };
  });
}

export function pathOf(points: readonly Mark[]): string {
  return points.map((p, i) => `${i === 0 ? "M" : "L"}${p.x.toFixed(1)} ${p.y.toFixed(1)}`).join("");
}

/** The outline of an area between two lines. */
export function areaPath(top: readonly Mark[], bottom: readonly Mark[]): string {
  if (top.length === 0) return "";
  return `${pathOf(top)}${pathOf([...bottom].reverse()).replace("M", "L")}Z`;
}

export interface Scatter {
  readonly x: Axis;
  readonly y: Axis;
  readonly marks: readonly Mark[];
}

export function scatterOf(chart: Chart, visible: readonly number[], plot: Box, ticks: { x: number; y: number }): Scatter {
  const points = visible.flatMap((series) => (chart.series[series]?.points ?? []).map((p, index) => ({ series, index, vx: p[0] ?? 0, vy: p[1] ?? 0 })));
  const x = axisOf(points.map((p) => p.vx), ticks.x, false);
  const y = axisOf(points.map((p) => p.vy), ticks.y, false);
  const marks = points.map(({ series, index, vx, vy }) => ({
    series,
    index,
    x: positionOf(vx, x, plot.x, plot.x + plot.w),
    y: positionOf(vy, y, plot.y + plot.h, plot.y),
  }));
  return { x, y, marks: marks.sort((a, b) => a.x - b.x || a.y - b.y) };
}

export interface Slice {
  readonly index: number;
  readonly path: string;
  /** The share of the whole. */
  readonly part: number;
}

/** The slices of a ring around a centre, clockwise from the top. */
export function slicesOf(values: readonly number[], cx: number, cy: number, outer: number, inner: number): Slice[] {
  const total = values.reduce((sum, v) => sum + v, 0);
  let before = 0;
  return values.map((v, index) => {
    const part = total > 0 ? v / total : 0;
    const path = ring(before, before + part, cx, cy, outer, inner);
    before += part;
    return { index, path, part };
  });
}

function ring(from: number, to: number, cx: number, cy: number, outer: number, inner: number): string {
  if (to <= from) return "";
  // A whole circle would begin where it ends, which draws nothing.
  const end = Math.min(to, from + 0.99999);
  const point = (part: number, r: number): string => {
    const angle = (part - 0.25) * 2 * Math.PI;
    return `${(cx + r * Math.cos(angle)).toFixed(2)} ${(cy + r * Math.sin(angle)).toFixed(2)}`;
  };
  const large = end - from > 0.5 ? 1 : 0;
  return `M${point(from, outer)}A${outer} ${outer} 0 ${large} 1 ${point(end, outer)}L${point(end, inner)}A${inner} ${inner} 0 ${large} 0 ${point(from, inner)}Z`;
}

/** The numbers of a chart as a table, like the one that the hub gives to other desktops. */
export function tableOf(chart: Chart, names: { x: string; series: (n: number) => string }): { headers: string[]; rows: string[][] } {
  if (chart.kind === "scatter") {
    const headers = [names.x, chart.xTitle || "x", chart.yTitle || "y"];
    return { headers, rows: chart.series.flatMap((s, n) => (s.points ?? []).map((p) => [names.series(n), String(p[0]), String(p[1])])) };
  }
  const unit = chart.unit ? ` (${chart.unit})` : "";
  return {
    headers: [chart.xTitle || names.x, ...chart.series.map((_, n) => names.series(n) + unit)],
    rows: (chart.labels ?? []).map((label, i) => [label, ...chart.series.map((s) => String(s.values?.[i] ?? ""))]),
  };
}
