// The windows of a monitor as a miniature, in percent of its size.

import type { Bounds, WindowState } from "../../../core/src/index.js";
import { clamp, type Size } from "./geometry.js";

/** The usual size of a screen; a monitor with windows beyond it is scaled down further. */
const usualSize: Size = { w: 1280, h: 800 };
const maxScale = 4;

/** The size of the area that contains all windows, in the proportions of the usual size. */
export function extentOf(windows: readonly WindowState[]): Size {
  let scale = 1;
  for (const { bounds: b, maximized, variant } of windows) {
    if (maximized === true || variant === "panel") continue;
    scale = Math.max(scale, Math.min((b.x + b.w) / usualSize.w, (b.x + usualSize.w) / usualSize.w), Math.min((b.y + b.h) / usualSize.h, (b.y + usualSize.h) / usualSize.h));
  }
  scale = Math.min(scale, maxScale);
  return { w: usualSize.w * scale, h: usualSize.h * scale };
}

export function miniature(w: WindowState, extent: Size): Bounds {
  const b = w.bounds;
  if (w.maximized === true) return { x: 0, y: 0, w: 100, h: 100 };
  if (w.variant === "panel") {
    const h = clamp(4, (100 * b.h) / extent.h, 33);
    return { x: 0, y: w.dockEdge === "top" ? 0 : 100 - h, w: 100, h };
  }
  const width = clamp(4, (100 * b.w) / extent.w, 100);
  const height = clamp(5, (100 * b.h) / extent.h, 100);
  return { x: clamp(0, (100 * b.x) / extent.w, 100 - width), y: clamp(0, (100 * b.y) / extent.h, 100 - height), w: width, h: height };
}
