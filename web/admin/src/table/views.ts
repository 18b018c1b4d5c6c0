// Saved views. They are stored in this browser; a link shares a view with other users.

import type { Storage } from "../../../core/src/index.js";

export interface SavedView {
  readonly name: string;
  /** The query string, without a question mark. */
  readonly query: string;
}

const key = "everdesk.admin-views";
const maxViews = 20;
const maxNameLength = 40;

export function readViews(storage: Storage): SavedView[] {
  try {
    const list: unknown = JSON.parse(storage.getItem(key) ?? "[]");
    if (!Array.isArray(list)) return [];
    return list.filter((v): v is SavedView => typeof v?.name === "string" && typeof v?.query === "string").slice(0, maxViews);
  } catch {
    return [];
  }
}

/** Adds a view, or replaces the one with its name. The oldest are dropped when there are too many. */
export function withView(views: readonly SavedView[], name: string, query: string): SavedView[] {
  const named = name.trim().slice(0, maxNameLength);
  if (named === "") return [...views];
  return [...views.filter((v) => v.name !== named), { name: named, query }].slice(-maxViews);
}

export function saveViews(storage: Storage, views: readonly SavedView[]): void {
  storage.setItem(key, JSON.stringify(views));
}
