// Layouts that agents made for another screen, scaled to this one. Windows that a person placed stay as they are.

import { type Bounds, isStandard, type MonitorID, type WindowState } from "../../../core/src/index.js";
import { clamp, fitInside, gap, type Size } from "./geometry.js";

/** The factors by which a layout is scaled. */
export interface Scale {
  readonly x: number;
  readonly y: number;
}

/** Smaller windows would be of no use; a layout that needs a smaller scale overlaps. */
const minScale = 0.6;

/** The scale at which all windows that agents placed on a monitor are inside the area; at most 1. */
export function layoutScale(windows: Iterable<WindowState>, monitor: MonitorID, area: Bounds): Scale {
  let right = 0;
  let bottom = 0;
  let count = 0;
  for (const w of windows) {
    if (w.monitorId !== monitor || w.placed === true || w.variant === "panel") continue;
    count++;
    const b = isStandard(w) ? (w.restoreBounds ?? w.bounds) : w.bounds;
    // A window that is far outside was not placed for any screen of this size: it is moved inside alone.
    if (b.x + b.w <= (area.x + area.w) / minScale) right = Math.max(right, b.x + b.w);
    if (b.y + b.h <= (area.y + area.h) / minScale) bottom = Math.max(bottom, b.y + b.h);
  }
  // A window alone is moved inside, as it has nothing to keep its distance from.
  if (count < 2) return { x: 1, y: 1 };
  return { x: factor(area.w, right - area.x), y: factor(area.h, bottom - area.y) };
}

function factor(room: number, extent: number): number {
  return extent <= room || extent <= 0 ? 1 : clamp(minScale, (room - gap) / extent, 1);
}

/** The bounds to draw for a window that an agent placed. */
export function fitScaled(b: Bounds, area: Bounds, least: Size, scale: Scale): Bounds {
  const shifted = {
    x: Math.round(area.x + (b.x - area.x) * scale.x),
    y: Math.round(area.y + (b.y - area.y) * scale.y),
    w: Math.round(b.w * scale.x),
    h: Math.round(b.h * scale.y),
  };
  return fitInside(scale.x === 1 && scale.y === 1 ? b : shifted, area, least);
}
