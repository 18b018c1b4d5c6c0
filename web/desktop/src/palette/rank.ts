// Which entries the palette shows for a query, and in which order.

import { match } from "./fuzzy.js";

export type Group = "recent" | "actions" | "windows" | "monitors" | "sessions" | "settings" | "ask";

/** The fields of an entry that ranking uses. */
export interface Rankable {
  id: string;
  group: Exclude<Group, "recent">;
  title: string;
  /** More searchable text. */
  words?: string;
}

export interface Ranked<T extends Rankable> {
  item: T;
  /** The indexes of the matched letters of the title. */
  at: readonly number[];
}

export interface Section<T extends Rankable> {
  group: Group;
  items: Ranked<T>[];
}

const order: Group[] = ["actions", "windows", "monitors", "sessions", "settings", "ask"];
const maxPerGroup = 8;
const maxRecent = 5;
/** The bonus of the most recently used entry; later ones get a fraction. */
const recentBonus = 6;

/** The sections of the palette: without a query recent entries and all others, with a query the best matches first. */
export function rank<T extends Rankable>(items: readonly T[], query: string, recent: readonly string[]): Section<T>[] {
  return query.trim() === "" ? browse(items, recent) : search(items, query, recent);
}

function browse<T extends Rankable>(items: readonly T[], recent: readonly string[]): Section<T>[] {
  const recentItems = recent.flatMap((id) => items.find((i) => i.id === id) ?? []).slice(0, maxRecent);
  const rest = items.filter((i) => !recentItems.includes(i));
  const sections = order.map((group): Section<T> => ({ group, items: rest.filter((i) => i.group === group).map(withoutMatch) }));
  return [{ group: "recent" as const, items: recentItems.map(withoutMatch) }, ...sections].filter((s) => s.items.length > 0);
}

function withoutMatch<T extends Rankable>(item: T): Ranked<T> {
  return { item, at: [] };
}

function search<T extends Rankable>(items: readonly T[], query: string, recent: readonly string[]): Section<T>[] {
  const found = items.flatMap((item) => {
    // The entry that asks the agent is always present, and last.
    if (item.group === "ask") return [{ item, at: [] as number[], score: -Infinity }];
    const title = match(query, item.title);
    const other = item.words === undefined ? undefined : match(query, item.words);
    if (title === undefined && other === undefined) return [];
    const used = recent.indexOf(item.id);
    const bonus = used < 0 ? 0 : recentBonus / (used + 1);
    return [{ item, at: title?.at ?? [], score: Math.max(title?.score ?? -Infinity, (other?.score ?? -Infinity) - 4) + bonus }];
  });
  found.sort((a, b) => b.score - a.score);
  const sections = new Map<Group, Ranked<T>[]>();
  for (const { item, at } of found) {
    const list = sections.get(item.group) ?? [];
    sections.set(item.group, list);
    if (list.length < maxPerGroup) list.push({ item, at });
  }
  return [...sections].map(([group, list]) => ({ group, items: list }));
}

/** The recently used ids after the use of one. */
export function addRecent(recent: readonly string[], id: string): string[] {
  return [id, ...recent.filter((r) => r !== id)].slice(0, 20);
}

export function readRecent(text: string | null): string[] {
  try {
    const v: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(v) ? v.filter((id): id is string => typeof id === "string").slice(0, 20) : [];
  } catch {
    return [];
  }
}

/** The index that a navigation key leads to. */
export function stepTo(key: string, at: number, length: number): number | undefined {
  const page = 8;
  const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[key];
  if (to !== undefined) return (to + length) % Math.max(length, 1);
  const far = { Home: 0, End: length - 1, PageDown: at + page, PageUp: at - page }[key];
  return far === undefined ? undefined : Math.min(Math.max(far, 0), length - 1);
}
