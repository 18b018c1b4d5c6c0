// What the palette shows for a query, and in which order.

import { match } from "./fuzzy.js";

export type Group = "recent" | "actions" | "windows" | "monitors" | "sessions" | "settings" | "ask";

/** As much of an entry as ranking needs. */
export interface Rankable {
  id: string;
  group: Exclude<Group, "recent">;
  title: string;
  /** Other words to be found by. */
  words?: string;
}

export interface Ranked<T extends Rankable> {
  item: T;
  /** The letters of the title that were meant. */
  at: readonly number[];
}

export interface Section<T extends Rankable> {
  group: Group;
  items: Ranked<T>[];
}

const order: Group[] = ["actions", "windows", "monitors", "sessions", "settings", "ask"];
const maxPerGroup = 8;
const maxRecent = 5;
/** What was used lately is worth so much more, the last the most. */
const recentBonus = 6;

/** Sections with their entries: without a query what was used lately and everything else, with one what fits best first. */
export function rank<T extends Rankable>(items: readonly T[], query: string, recent: readonly string[]): Section<T>[] {
  return query.trim() === "" ? browse(items, recent) : seek(items, query, recent);
}

function browse<T extends Rankable>(items: readonly T[], recent: readonly string[]): Section<T>[] {
  const used = recent.flatMap((id) => items.find((i) => i.id === id) ?? []).slice(0, maxRecent);
  const rest = items.filter((i) => !used.includes(i));
  const sections = order.map((group): Section<T> => ({ group, items: rest.filter((i) => i.group === group).map(plain) }));
  return [{ group: "recent" as const, items: used.map(plain) }, ...sections].filter((s) => s.items.length > 0);
}

function plain<T extends Rankable>(item: T): Ranked<T> {
  return { item, at: [] };
}

function seek<T extends Rankable>(items: readonly T[], query: string, recent: readonly string[]): Section<T>[] {
  const found = items.flatMap((item) => {
    // What can be asked is always there, and comes last.
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

/** What was used lately, after something was used. */
export function used(recent: readonly string[], id: string): string[] {
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

/** Where an arrow goes from an entry of a list. */
export function stepTo(key: string, at: number, length: number): number | undefined {
  const page = 8;
  const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[key];
  if (to !== undefined) return (to + length) % Math.max(length, 1);
  const far = { Home: 0, End: length - 1, PageDown: at + page, PageUp: at - page }[key];
  return far === undefined ? undefined : Math.min(Math.max(far, 0), length - 1);
}
