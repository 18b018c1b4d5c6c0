// The state hash covers the original text of free-form values, and maps in the order of their keys. A parsed value loses
// some of that: 1e3, "\u00e9", {"b":1,"1":2}. In these cases the object around the value keeps the original text under a
// symbol, which {...} copies and JSON.stringify ignores.

/** The key under which an object keeps the original texts of its fields, by field name. */
export const exact: unique symbol = Symbol("exact");

type Exact = { [exact]?: Record<string, string> };

/** Stores the original text of a field. */
export function keepExact(object: object, field: string, text: string): void {
  const holder = object as Exact;
  holder[exact] = { ...holder[exact], [field]: text };
}

/** The original text of a field, if its parsed value lost something. */
export function exactOf(object: object, field: string): string | undefined {
  return (object as Exact)[exact]?.[field];
}

/** The JSON text of a free-form field. */
export function rawText(object: object, field: string): string {
  return exactOf(object, field) ?? JSON.stringify((object as Record<string, unknown>)[field]) ?? "null";
}

/** Copies some fields of an object with their original texts. */
export function pick<T extends object, K extends keyof T>(from: T, fields: readonly K[]): Pick<T, K> {
  const out = {} as Pick<T, K> & Exact;
  for (const f of fields) if (from[f] !== undefined) out[f] = from[f];
  const texts = (from as Exact)[exact];
  if (texts !== undefined) out[exact] = texts;
  return out;
}
