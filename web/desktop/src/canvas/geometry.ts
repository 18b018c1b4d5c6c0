// Positions and sizes of windows. Pure functions on rectangles in CSS pixels of the canvas.

import type { Bounds, WindowState } from "../../../core/src/index.js";

export interface Size {
  readonly w: number;
  readonly h: number;
}

/** The edges and corners a window is resized by, by their compass names. */
export const edges = ["n", "ne", "e", "se", "s", "sw", "w", "nw"] as const;
export type Edge = (typeof edges)[number];

/** The zones of the canvas that a window can snap to. */
export const zones = ["left", "right", "top-left", "top-right", "bottom-left", "bottom-right", "full"] as const;
export type Zone = (typeof zones)[number];

export const titleHeight = 36;
/** The width of the title bar that stays on the canvas, so that the window can be dragged. */
export const minTitleVisible = 120;
/** The space between snapped windows and around them. */
export const gap = 8;
/** How near to an edge the pointer must be to snap. */
const nearEdge = 14;
/** How near to a corner, along an edge, the pointer must be to snap to a quarter instead of a half. */
const nearCorner = 72;

export const minSizes: Readonly<Record<"standard" | "widget" | "panel", Size>> = {
  standard: { w: 240, h: 120 },
  widget: { w: 96, h: 64 },
  panel: { w: 96, h: 40 },
};

export function minSizeOf(w: Pick<WindowState, "variant">): Size {
  return minSizes[w.variant ?? "standard"];
}

export function sameBounds(a: Bounds, b: Bounds): boolean {
  return a.x === b.x && a.y === b.y && a.w === b.w && a.h === b.h;
}

export function rounded(b: Bounds): Bounds {
  return { x: Math.round(b.x), y: Math.round(b.y), w: Math.round(b.w), h: Math.round(b.h) };
}

/** Limits a number to a range. If the bounds contradict each other, the lower one applies. */
export function clamp(low: number, n: number, high: number): number {
  return Math.max(low, Math.min(n, high));
}

/** The part of the canvas that panels leave to the other windows. */
export function workArea(canvas: Size, panels: readonly WindowState[]): Bounds {
  let top = 0;
  let bottom = 0;
  for (const p of panels) {
    if (p.dockEdge === "top") top += panelHeight(p, canvas);
    else bottom += panelHeight(p, canvas);
  }
  return { x: 0, y: top, w: canvas.w, h: Math.max(0, canvas.h - top - bottom) };
}

/** The bounds of a panel: the whole width of the canvas, stacked from its edge inwards in the order of the list. */
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
  return clamp(minSizes.panel.h, p.bounds.h, Math.floor(canvas.h / 3));
}

/**
 * The bounds to draw for a window that the user has placed: at most the size of the area, and at its place if enough of
 * the title bar is on the area; else wholly inside, since the place may come from a larger screen.
 */
export function fitReachable(b: Bounds, area: Bounds, least: Size): Bounds {
  const w = Math.min(Math.max(b.w, least.w), Math.max(area.w, least.w));
  const h = Math.min(Math.max(b.h, least.h), Math.max(area.h, least.h));
  const visible = Math.min(minTitleVisible, w);
  const inX = b.x + w >= area.x + visible && b.x <= area.x + area.w - visible;
  const inY = b.y >= area.y && b.y <= area.y + area.h - titleHeight;
  return {
    x: inX ? b.x : clamp(area.x, b.x, area.x + area.w - w),
    y: inY ? b.y : clamp(area.y, b.y, area.y + area.h - h),
    w,
    h,
  };
}

/**
 * The bounds to draw for a window that the user has not placed: wholly inside the area, if the area is large enough.
 */
export function fitInside(b: Bounds, area: Bounds, least: Size): Bounds {
  const { w, h } = fitReachable(b, area, least);
  return { x: clamp(area.x, b.x, area.x + area.w - w), y: clamp(area.y, b.y, area.y + area.h - h), w, h };
}

/** The bounds after a movement, limited so that the title bar can still be dragged. */
export function moved(from: Bounds, dx: number, dy: number, area: Bounds): Bounds {
  const visible = Math.min(minTitleVisible, from.w);
  return {
    ...from,
    x: clamp(area.x + visible - from.w, from.x + dx, area.x + area.w - visible),
    y: clamp(area.y, from.y + dy, area.y + area.h - titleHeight),
  };
}

/** The bounds after an edge was moved. The opposite edges stay where they are. */
export function resized(from: Bounds, edge: Edge, dx: number, dy: number, area: Bounds, least: Size): Bounds {
  let { x, y, w, h } = from;
  if (edge.includes("e")) w = clamp(least.w, from.w + dx, Math.max(area.x + area.w - from.x, least.w));
  if (edge.includes("s")) h = clamp(least.h, from.h + dy, Math.max(area.y + area.h - from.y, least.h));
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

/** The zone to snap to when the pointer is at an edge of the area. */
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

/** The bounds of a zone. The full zone has no gap around it. */
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

/** The zone that a window fills exactly. */
export function zoneOf(b: Bounds, area: Bounds): Zone | undefined {
  return zones.find((zone) => zone !== "full" && sameBounds(zoneBounds(zone, area), b));
}

/**
 * The bounds of a maximised or snapped window that gets its former size back during a drag: the pointer stays at the
 * same fraction of the title bar.
 */
export function restoredUnderPointer(size: Size, now: Bounds, x: number, y: number): Bounds {
  const part = now.w > 0 ? clamp(0, (x - now.x) / now.w, 1) : 0.5;
  return rounded({ x: x - part * size.w, y: y - Math.min(y - now.y, titleHeight / 2), w: size.w, h: size.h });
}

/** How far an arrow key moves a window: 1 px with Ctrl, else 16 px. */
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
