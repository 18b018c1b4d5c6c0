// Text search in the conversation.

import type { Entry, MessageEntry, RowEntry } from "../drawer/entries.js";

/** Normalizes a text for comparison: case and Unicode composition do not matter. */
export function normalizeText(text: string): string {
  return text.normalize("NFC").toLowerCase();
}

/** The searchable text of an entry, including collapsed parts. */
export function textOf(e: MessageEntry | RowEntry): string {
  if (e.kind === "user") return e.text;
  const { row } = e;
  return [row.text, row.reasoning, row.contextCondense?.summary].filter((s) => s).join("\n");
}

/** The entries that contain a text, the oldest first. */
export function hitsOf(entries: readonly Entry[], query: string): (MessageEntry | RowEntry)[] {
  const wanted = normalizeText(query.trim());
  if (wanted === "") return [];
  return entries.filter((e): e is MessageEntry | RowEntry => e.kind !== "day" && normalizeText(textOf(e)).includes(wanted));
}

/**
 * The hit to go to: the next one in the direction of `step`, wrapping around. Without a current hit, backwards starts
 * at the newest.
 */
export function stepTo(keys: readonly string[], at: string | undefined, step: 1 | -1): string | undefined {
  if (keys.length === 0) return undefined;
  const i = at === undefined ? -1 : keys.indexOf(at);
  if (i < 0) return keys[step === 1 ? 0 : keys.length - 1];
  return keys[(i + step + keys.length) % keys.length];
}

/** The ranges of a query in a text. A text whose length changes when it is lower-cased gives none. */
export function matchRanges(text: string, query: string): [number, number][] {
  const all = text.toLowerCase();
  const wanted = query.trim().toLowerCase();
  if (wanted === "" || all.length !== text.length) return [];
  const places: [number, number][] = [];
  for (let at = all.indexOf(wanted); at >= 0 && places.length < 500; at = all.indexOf(wanted, at + wanted.length)) places.push([at, at + wanted.length]);
  return places;
}
