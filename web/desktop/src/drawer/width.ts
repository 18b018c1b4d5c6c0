// How wide the conversation is. It is kept for this browser.

import type { Storage } from "../../../core/src/index.js";

export const widths = { least: 280, usual: 380, most: 720 } as const;

const key = "everdesk.drawer";

/** A width that leaves at least half of the page to the windows. */
export function clampWidth(width: number, page: number): number {
  return Math.round(Math.max(widths.least, Math.min(width, widths.most, Math.max(page / 2, widths.least))));
}

export function keptWidth(storage: Storage, page: number): number {
  const kept = Number(storage.getItem(key) ?? "");
  return clampWidth(Number.isFinite(kept) && kept > 0 ? kept : widths.usual, page);
}

export function keepWidth(storage: Storage, width: number): void {
  try {
    storage.setItem(key, String(width));
  } catch {
    // The storage is full or forbidden: the width lasts as long as the page.
  }
}
