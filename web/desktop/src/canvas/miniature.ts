// The windows of a monitor in small, in percent of the picture.

import type { Bounds, WindowState } from "../../../core/src/index.js";
import { between, type Size } from "./geometry.js";

/** A screen as most have it; a monitor with windows beyond it is shown larger. */
const usual: Size = { w: 1280, h: 800 };
const largest = 4;

/** The size of the canvas that has all windows, in the shape of the usual one. */
export function extentOf(windows: readonly WindowState[]): Size {
  let scale = 1;
  for (const { bounds: b, maximized, variant } of windows) {
    if (maximized === true || variant === "panel") continue;
    scale = Math.max(scale, Math.min((b.x + b.w) / usual.w, (b.x + usual.w) / usual.w), Math.min((b.y + b.h) / usual.h, (b.y + usual.h) / usual.h));
  }
  scale = Math.min(scale, largest);
  return { w: usual.w * scale, h: usual.h * scale };
}

export function miniature(w: WindowState, extent: Size): Bounds {
  const b = w.bounds;
  if (w.maximized === true) return { x: 0, y: 0, w: 100, h: 100 };
  if (w.variant === "panel") {
    const h = between(4, (100 * b.h) / extent.h, 33);
    return { x: 0, y: w.dockEdge === "top" ? 0 : 100 - h, w: 100, h };
  }
  const width = between(4, (100 * b.w) / extent.w, 100);
  const height = between(5, (100 * b.h) / extent.h, 100);
  return { x: between(0, (100 * b.x) / extent.w, 100 - width), y: between(0, (100 * b.y) / extent.h, 100 - height), w: width, h: height };
}
