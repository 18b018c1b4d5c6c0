// The width of the conversation, stored in the browser.

import type { Storage } from "../../../core/src/index.js";

export const widths = { min: 280, initial: 380, max: 720 } as const;

/** Below this width of the page the conversation is narrow, so that windows have room. */
const widePage = 1300;
const narrow = 300;

const key = "everdesk.drawer";

/** The width of the conversation on a page, from the one that the user chose on any page. */
export function fittedWidth(width: number, page: number): number {
  return clampWidth(page < widePage ? Math.min(width, narrow) : width, page);
}

/** Limits a width so that windows keep at least half of the page, unless that is less than the minimum. */
export function clampWidth(width: number, page: number): number {
  return Math.round(Math.max(widths.min, Math.min(width, widths.max, Math.max(page / 2, widths.min))));
}

export function loadWidth(storage: Storage, page: number): number {
  const stored = Number(storage.getItem(key) ?? "");
  return fittedWidth(Number.isFinite(stored) && stored > 0 ? stored : widths.initial, page);
}

export function saveWidth(storage: Storage, width: number): void {
  try {
    storage.setItem(key, String(width));
  } catch {
    // The storage is full or forbidden: the width lasts as long as the page.
  }
}
