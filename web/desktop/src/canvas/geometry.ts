// Where windows are and may be. Pure: rectangles in, rectangles out, in CSS pixels of the canvas.

import type { Bounds, WindowState } from "../../../core/src/index.js";

export interface Size {
  readonly w: number;
  readonly h: number;
}

/** The edges and corners a window is resized by, by their compass names. */
export const edges = ["n", "ne", "e", "se", "s", "sw", "w", "nw"] as const;
export type Edge = (typeof edges)[number];

/** The places a window snaps to. */
export const zones = ["left", "right", "top-left", "top-right", "bottom-left", "bottom-right", "full"] as const;
export type Zone = (typeof zones)[number];

export const titleHeight = 36;
/** How much of a title bar stays on the canvas, so that it can be taken hold of. */
export const grip = 120;
/** Between windows that are snapped, and around them. */
export const gap = 8;
/** How near to an edge the pointer must come for a snap. */
const nearEdge = 14;
/** How far from a corner, along an edge, a snap takes the quarter instead of the half. */
const nearCorner = 72;

export const smallest: Readonly<Record<"standard" | "widget" | "panel", Size>> = {
  standard: { w: 240, h: 120 },
  widget: { w: 96, h: 64 },
  panel: { w: 96, h: 40 },
};

export function smallestOf(w: Pick<WindowState, "variant">): Size {
  return smallest[w.variant ?? "standard"];
}

export function sameBounds(a: Bounds, b: Bounds): boolean {
  return a.x === b.x && a.y === b.y && a.w === b.w && a.h === b.h;
}

export function rounded(b: Bounds): Bounds {
  return { x: Math.round(b.x), y: Math.round(b.y), w: Math.round(b.w), h: Math.round(b.h) };
}

/** A number between two others. When they contradict each other, the lower one counts. */
export function between(low: number, n: number, high: number): number {
  return Math.max(low, Math.min(n, high));
}

/** What panels leave of the canvas to the other windows. */
export function workArea(canvas: Size, panels: readonly WindowState[]): Bounds {
  let top = 0;
  let bottom = 0;
  for (const p of panels) {
    if (p.dockEdge === "top") top += panelHeight(p, canvas);
    else bottom += panelHeight(p, canvas);
  }
  return { x: 0, y: top, w: canvas.w, h: Math.max(0, canvas.h - top - bottom) };
}

/** Where a panel is: over the whole length of its edge, in the order of the list from the edge inwards. */
export function panelBounds(panel: WindowState, canvas: Size, panels: readonly WindowState[]): Bounds {
  const onTop = panel.dockEdge === "top";
  const h = panelHeight(panel, canvas);
  let before = 0;
  for (const p of panels) {
    if (p.windowId === panel.windowId) break;
    if ((p.dockEdge === "top") === onTop) before += panelHeight(p, canvas);
  }
  return { x: 0, y: onTop ? before : canvas.h - before - h, w: canvas.w, h };
}

function panelHeight(p: WindowState, canvas: Size): number {
  return between(smallest.panel.h, p.bounds.h, Math.floor(canvas.h / 3));
}

/**
 * Where a window is drawn that a person has put there: as large as there is room, and where it was put as long as its
 * title bar can be taken hold of there; else wholly inside, since it may come from a larger screen.
 */
export function drawn(b: Bounds, area: Bounds, least: Size): Bounds {
  const w = Math.min(Math.max(b.w, least.w), Math.max(area.w, least.w));
  const h = Math.min(Math.max(b.h, least.h), Math.max(area.h, least.h));
  const held = Math.min(grip, w);
  const inX = b.x + w >= area.x + held && b.x <= area.x + area.w - held;
  const inY = b.y >= area.y && b.y <= area.y + area.h - titleHeight;
  return {
    x: inX ? b.x : between(area.x, b.x, area.x + area.w - w),
    y: inY ? b.y : between(area.y, b.y, area.y + area.h - h),
    w,
    h,
  };
}

/** Where a window is drawn that nobody has put there by hand: wholly inside, as far as there is room. */
export function inside(b: Bounds, area: Bounds, least: Size): Bounds {
  const { w, h } = drawn(b, area, least);
  return { x: between(area.x, b.x, area.x + area.w - w), y: between(area.y, b.y, area.y + area.h - h), w, h };
}

/** A window as far as it may be moved: its title bar stays in reach. */
export function moved(from: Bounds, dx: number, dy: number, area: Bounds): Bounds {
  const held = Math.min(grip, from.w);
  return {
    ...from,
    x: between(area.x + held - from.w, from.x + dx, area.x + area.w - held),
    y: between(area.y, from.y + dy, area.y + area.h - titleHeight),
  };
}

/** A window after one of its edges was moved. The edges that were not moved stay where they are. */
export function resized(from: Bounds, edge: Edge, dx: number, dy: number, area: Bounds, least: Size): Bounds {
  let { x, y, w, h } = from;
  if (edge.includes("e")) w = between(least.w, from.w + dx, Math.max(area.x + area.w - from.x, least.w));
  if (edge.includes("s")) h = between(least.h, from.h + dy, Math.max(area.y + area.h - from.y, least.h));
  if (edge.includes("w")) {
    x = Math.min(Math.max(from.x + dx, Math.min(area.x, from.x)), from.x + from.w - least.w);
    w = from.x + from.w - x;
  }
  if (edge.includes("n")) {
    y = Math.min(Math.max(from.y + dy, area.y), from.y + from.h - least.h);
    h = from.y + from.h - y;
  }
  return { x, y, w, h };
}

/** The place that a pointer at the edge of the area asks for. */
export function zoneAt(x: number, y: number, area: Bounds): Zone | undefined {
  const left = x <= area.x + nearEdge;
  const right = x >= area.x + area.w - nearEdge;
  const top = y <= area.y + nearEdge;
  const bottom = y >= area.y + area.h - nearEdge;
  const high = y <= area.y + nearCorner;
  const low = y >= area.y + area.h - nearCorner;
  if (left || (x <= area.x + nearCorner && (top || bottom))) return high ? "top-left" : low ? "bottom-left" : left ? "left" : undefined;
  if (right || (x >= area.x + area.w - nearCorner && (top || bottom))) return high ? "top-right" : low ? "bottom-right" : right ? "right" : undefined;
  return top ? "full" : undefined;
}

/** Where a zone is. The full one has no gap around it. */
export function zoneBounds(zone: Zone, area: Bounds): Bounds {
  if (zone === "full") return area;
  const w = (area.w - 3 * gap) / 2;
  const h = (area.h - 3 * gap) / 2;
  const atRight = zone === "right" || zone.endsWith("-right");
  const atBottom = zone.startsWith("bottom");
  const whole = zone === "left" || zone === "right";
  return rounded({
    x: area.x + gap + (atRight ? w + gap : 0),
    y: area.y + gap + (atBottom ? h + gap : 0),
    w,
    h: whole ? area.h - 2 * gap : h,
  });
}

/** The zone that a window fills, if it fills one. */
export function zoneOf(b: Bounds, area: Bounds): Zone | undefined {
  return zones.find((zone) => zone !== "full" && sameBounds(zoneBounds(zone, area), b));
}

/** A window that gets its size back while the pointer holds it: the pointer stays at the same part of the title bar. */
export function regained(size: Size, now: Bounds, x: number, y: number): Bounds {
  const part = now.w > 0 ? between(0, (x - now.x) / now.w, 1) : 0.5;
  return rounded({ x: x - part * size.w, y: y - Math.min(y - now.y, titleHeight / 2), w: size.w, h: size.h });
}

/** How far a key moves something: one pixel for those who hold Ctrl, else four cells of the grid. */
export function keyStep(e: { key: string; ctrlKey: boolean }): { dx: number; dy: number } | undefined {
  const step = e.ctrlKey ? 1 : 16;
  switch (e.key) {
    case "ArrowLeft":
      return { dx: -step, dy: 0 };
    case "ArrowRight":
      return { dx: step, dy: 0 };
    case "ArrowUp":
      return { dx: 0, dy: -step };
    case "ArrowDown":
      return { dx: 0, dy: step };
  }
  return undefined;
}
