// Views that somebody gave a name. They are kept in this browser; for others there is the link.

import type { Storage } from "../../../core/src/index.js";

export interface SavedView {
  readonly name: string;
  /** The address behind the question mark. */
  readonly query: string;
}

const key = "everdesk.admin-views";
const mostViews = 20;
const longestName = 40;

export function readViews(storage: Storage): SavedView[] {
  try {
    const list: unknown = JSON.parse(storage.getItem(key) ?? "[]");
    if (!Array.isArray(list)) return [];
    return list.filter((v): v is SavedView => typeof v?.name === "string" && typeof v?.query === "string").slice(0, mostViews);
  } catch {
    return [];
  }
}

/** The views with one more; a name that is there gets the new view. The oldest go when there are too many. */
export function withView(views: readonly SavedView[], name: string, query: string): SavedView[] {
  const named = name.trim().slice(0, longestName);
  if (named === "") return [...views];
  return [...views.filter((v) => v.name !== named), { name: named, query }].slice(-mostViews);
}

export function saveViews(storage: Storage, views: readonly SavedView[]): void {
  storage.setItem(key, JSON.stringify(views));
}
