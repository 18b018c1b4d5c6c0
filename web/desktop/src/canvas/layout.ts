// Layouts that agents made for another screen, scaled to this one. Windows that a person placed stay as they are.

import { type Bounds, isStandard, type MonitorID, type WindowState } from "../../../core/src/index.js";
import { clamp, fitInside, gap, type Size } from "./geometry.js";
import { keyOf } from "./stack.js";

/** The factors by which a layout is scaled, and how far it is moved then, in px. */
export interface Scale {
  readonly x: number;
  readonly y: number;
  readonly dx: number;
  readonly dy: number;
}

/** Smaller windows would be of no use; a layout that needs a smaller scale overlaps. */
const minScale = 0.6;
/** Larger windows would be mostly empty: their texts keep their size. */
const maxScale = 1.6;
/** The largest screen for which agents make layouts without knowing the screen. On larger ones a layout is made larger. */
const usualScreen: Size = { w: 1920, h: 1080 };

/** The layouts that agents made on the monitors, which stay the same while a person moves windows out of them. */
export class AgentLayouts {
  private readonly monitors = new Map<MonitorID, ReadonlyMap<string, Bounds>>();

  /** The scale of the windows that agents placed on a monitor. */
  scale(windows: Iterable<WindowState>, monitor: MonitorID, area: Bounds): Scale {
    const before = this.monitors.get(monitor);
    const layout = new Map<string, Bounds>();
    for (const w of windows) {
      if (w.monitorId !== monitor || w.variant === "panel") continue;
      const own = w.placed === true ? before?.get(keyOf(w)) : isStandard(w) ? (w.restoreBounds ?? w.bounds) : w.bounds;
      if (own !== undefined) layout.set(keyOf(w), own);
    }
    this.monitors.set(monitor, layout);
    return layoutScale([...layout.values()], area);
  }
}

/** The scale at which a layout is inside the area. On a large screen it is larger than its bounds, and in the middle. */
function layoutScale(layout: readonly Bounds[], area: Bounds): Scale {
  // A window alone is moved inside, as it has nothing to keep its distance from.
  if (layout.length < 2) return { x: 1, y: 1, dx: 0, dy: 0 };
  const growth = clamp(1, Math.min(area.w / usualScreen.w, area.h / usualScreen.h), maxScale);
  const x = axis(area.w, usualScreen.w, growth, layout.map((b) => [b.x - area.x, b.x - area.x + b.w]));
  const y = axis(area.h, usualScreen.h, growth, layout.map((b) => [b.y - area.y, b.y - area.y + b.h]));
  return { x: x.scale, y: y.scale, dx: x.shift, dy: y.shift };
}

/** The scale along one axis for intervals in `room` pixels. */
function axis(room: number, usual: number, growth: number, intervals: readonly [number, number][]): { scale: number; shift: number } {
  // A window that is far outside was not placed for any screen of this size: it is moved inside alone.
  const near = intervals.filter(([, end]) => end <= room / minScale);
  const begin = Math.min(...near.map(([from]) => from));
  const end = Math.max(0, ...near.map(([, to]) => to));
  if (end > room) return { scale: clamp(minScale, (room - gap) / end, 1), shift: 0 };
  if (growth === 1 || end <= begin) return { scale: 1, shift: 0 };
  // What reaches beyond the usual screen was made for a larger one, and grows less.
  const scale = clamp(1, (usual * growth) / Math.max(end, usual), growth);
  return { scale, shift: Math.round((room - (begin + end) * scale) / 2) };
}

/** The bounds to draw for a window that an agent placed. */
export function fitScaled(b: Bounds, area: Bounds, least: Size, scale: Scale): Bounds {
  const shifted = {
    x: Math.round(area.x + scale.dx + (b.x - area.x) * scale.x),
    y: Math.round(area.y + scale.dy + (b.y - area.y) * scale.y),
    w: Math.round(b.w * scale.x),
    h: Math.round(b.h * scale.y),
  };
  const same = scale.x === 1 && scale.y === 1 && scale.dx === 0 && scale.dy === 0;
  return fitInside(same ? b : shifted, area, least);
}
