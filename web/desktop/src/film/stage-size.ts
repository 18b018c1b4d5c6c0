// The size of the desktop that a film draws. It is scaled to its stage, so that it fills it.

import type { WindowState } from "../../../core/src/index.js";
import { clamp, type Size } from "../canvas/geometry.js";

/** A desktop is at least so large, so that a single small window does not fill a phone. */
const least: Size = { w: 640, h: 400 };
/** On a larger stage a desktop is drawn larger than life, unless its windows need the space. */
const usual: Size = { w: 1280, h: 800 };
/** Windows beyond it are drawn at its edge. */
const largest: Size = { w: 5120, h: 3200 };
/** The space between the last window and the edge, if the desktop is drawn smaller. */
const margin = 16;

/**
 * The size of the desktop that contains all windows, in the proportions of its stage. On a stage of the size of a
 * screen it is the stage's, so that windows have their own size if all of them fit.
 */
export function stageSize(windows: readonly WindowState[], stage: Size): Size {
  if (stage.w <= 0 || stage.h <= 0) return usual;
  let w = clamp(least.w, stage.w, usual.w);
  let h = clamp(least.h, stage.h, usual.h);
  for (const { bounds: b, maximized, variant } of windows) {
    if (maximized === true || variant === "panel") continue;
    w = Math.max(w, Math.min(b.x + b.w + margin, largest.w));
    h = Math.max(h, Math.min(b.y + b.h + margin, largest.h));
  }
  const scale = Math.min(stage.w / w, stage.h / h);
  return { w: stage.w / scale, h: stage.h / scale };
}
