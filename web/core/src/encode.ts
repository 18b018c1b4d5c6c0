// Encodes values byte for byte as the hub does: fields in declared order, empty ones omitted or null.

import { exactOf, keepExact, rawText } from "./exact.js";
import type { Field, ObjectShape, Shape } from "./shape.js";

type Fields = Record<string, unknown>;

/** Encodes a value of a shape as JSON. */
export function encode(shape: Shape, value: unknown): string {
  switch (shape.kind) {
    case "any":
      return JSON.stringify(value) ?? "null";
    case "boolean":
      return value === true ? "true" : "false";
    case "integer":
      return String(((value as number | undefined) ?? 0) + 0); // no -0
    case "number":
      return encodeNumber((value as number | undefined) ?? 0);
    case "string":
      return encodeText((value as string | undefined) ?? "");
    case "position":
      return `"${(value as string | undefined) || "0-0"}"`;
    case "list":
      return `[${((value as unknown[] | undefined) ?? []).map((v) => encode(shape.of, v)).join(",")}]`;
    case "map":
      return encodeMap(shape.of, Object.entries((value as Fields | undefined) ?? {}));
    case "object":
      return `{${encodeFields(shape, (value as Fields | undefined) ?? {}).join(",")}}`;
    case "union": {
      const object = value as Fields;
      const variant = shape.variants.get(object[shape.tag] as string);
      if (variant === undefined) return encode(shape.other ?? { kind: "any" }, object);
      const tag = `"${shape.tag}":${encodeText(object[shape.tag] as string)}`;
      return `{${[tag, ...encodeFields(variant as ObjectShape, object)].join(",")}}`;
    }
    case "choice": {
      const chosen = shape.options.find((o) => accepts(o.of, value) && (o.keepsZero || !isZero(o.of, value)));
      // A union without a value is encoded as its first option without a value.
      return chosen ? encode(chosen.of, value) : encode(shape.options[0]!.of, undefined);
    }
  }
}

function encodeMap(of: Shape, entries: [string, unknown][]): string {
  return `{${entries.map(([k, v]) => `${encodeText(k)}:${encode(of, v)}`).join(",")}}`;
}

/** Sets a map as a field of an object, and stores its text too if an object would reorder the keys. */
export function putMap(out: object, field: string, of: Shape, entries: [string, unknown][]): void {
  const map = Object.fromEntries(entries);
  (out as Fields)[field] = map;
  const keys = Object.keys(map);
  if (keys.length === entries.length && keys.every((k, i) => k === entries[i]![0])) return;
  keepExact(out, field, encodeMap(of, entries));
}

function encodeFields(shape: ObjectShape, object: Fields): string[] {
  const out: string[] = [];
  for (const f of shape.fields) {
    const none = f.optional && absent(f, object);
    if (none && (f.nullIn === undefined || object[shape.fields[0]!.name] !== f.nullIn)) continue;
    out.push(`"${f.name}":${none ? "null" : encodeField(f, object)}`);
  }
  return out;
}

function encodeField(f: Field, object: Fields): string {
  if (f.shape.kind === "any") return rawText(object, f.name);
  if (f.shape.kind === "map") return exactOf(object, f.name) ?? encode(f.shape, object[f.name]);
  return encode(f.shape, object[f.name]);
}

function absent(f: Field, object: Fields): boolean {
  const value = object[f.name];
  return value === undefined || (value === null && f.nullIn !== undefined) || (!f.keepsZero && isZero(f.shape, value));
}

function isZero(shape: Shape, value: unknown): boolean {
  switch (shape.kind) {
    case "any":
    case "union":
      return value === undefined;
    case "boolean":
      return value === false;
    case "integer":
    case "number":
      return value === 0;
    case "string":
      return value === "";
    case "position":
      return value === "" || value === "0-0";
    case "list":
      return (value as unknown[]).length === 0;
    case "map":
      return Object.keys(value as object).length === 0;
    case "object":
      return shape.fields.every((f) => absent(f, value as Fields));
    case "choice":
      return shape.options.every((o) => !accepts(o.of, value) || (!o.keepsZero && isZero(o.of, value)));
  }
}

/** Whether a shape accepts values of this kind. */
export function accepts(shape: Shape, value: unknown): boolean {
  switch (shape.kind) {
    case "any":
    case "choice":
      return true;
    case "boolean":
      return typeof value === "boolean";
    case "integer":
    case "number":
      return typeof value === "number";
    case "string":
    case "position":
      return typeof value === "string";
    case "list":
      return Array.isArray(value);
    default:
      return typeof value === "object" && value !== null && !Array.isArray(value);
  }
}

function encodeText(text: string): string {
  return JSON.stringify(text.toWellFormed());
}

/** Go writes exponents with two digits and keeps the sign of -0. */
function encodeNumber(n: number): string {
  if (Object.is(n, -0)) return "-0";
  return String(n).replace(/e([+-])(\d)$/, "e$10$2");
}
