// Finding words in the conversation.

import type { Entry, MessageEntry, RowEntry } from "../drawer/entries.js";

/** A text as it is compared: the same whatever its case, and however its letters are put together. */
export function folded(text: string): string {
  return text.normalize("NFC").toLowerCase();
}

/** All that can be read in an entry, also where it is folded away. */
export function textOf(e: MessageEntry | RowEntry): string {
  if (e.kind === "user") return e.text;
  const { row } = e;
  return [row.text, row.reasoning, row.contextCondense?.summary].filter((s) => s).join("\n");
}

/** The entries that have a text, the oldest first. */
export function hitsOf(entries: readonly Entry[], query: string): (MessageEntry | RowEntry)[] {
  const wanted = folded(query.trim());
  if (wanted === "") return [];
  return entries.filter((e): e is MessageEntry | RowEntry => e.kind !== "day" && folded(textOf(e)).includes(wanted));
}

/** The hit to go to: the next one from where somebody is, or the newest when they are nowhere. It goes round. */
export function stepTo(keys: readonly string[], at: string | undefined, step: 1 | -1): string | undefined {
  if (keys.length === 0) return undefined;
  const i = at === undefined ? -1 : keys.indexOf(at);
  if (i < 0) return keys[step === 1 ? 0 : keys.length - 1];
  return keys[(i + step + keys.length) % keys.length];
}

/** Where a text is in a piece of text, as pairs of begin and end. Pieces whose letters change their number are left out. */
export function placesIn(text: string, query: string): [number, number][] {
  const all = text.toLowerCase();
  const wanted = query.trim().toLowerCase();
  if (wanted === "" || all.length !== text.length) return [];
  const places: [number, number][] = [];
  for (let at = all.indexOf(wanted); at >= 0 && places.length < 500; at = all.indexOf(wanted, at + wanted.length)) places.push([at, at + wanted.length]);
  return places;
}
