// Free-form values reach the hub's hash in the very text in which they came, and maps in the order of their keys; a
// parsed value has lost some of that: 1e3, "\u00e9", {"b":1,"1":2}. Where something was lost, the object around the value
// keeps the text beside it, under a symbol, which a copy with {...} takes along and JSON.stringify does not see.

/** Where an object keeps the texts of its fields, by name. */
export const exact: unique symbol = Symbol("exact");

type Exact = { [exact]?: Record<string, string> };

/** Remembers the text of a field. */
export function keepExact(object: object, field: string, text: string): void {
  const holder = object as Exact;
  holder[exact] = { ...holder[exact], [field]: text };
}

/** The text of a field, if it is more than its value can say. */
export function exactOf(object: object, field: string): string | undefined {
  return (object as Exact)[exact]?.[field];
}

/** The JSON text of a free-form field. */
export function rawText(object: object, field: string): string {
  return exactOf(object, field) ?? JSON.stringify((object as Record<string, unknown>)[field]) ?? "null";
}

/** Some fields of an object, with their texts. */
export function pick<T extends object, K extends keyof T>(from: T, fields: readonly K[]): Pick<T, K> {
  const out = {} as Pick<T, K> & Exact;
  for (const f of fields) if (from[f] !== undefined) out[f] = from[f];
  const texts = (from as Exact)[exact];
  if (texts !== undefined) out[exact] = texts;
  return out;
}
