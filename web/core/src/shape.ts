// The forms of what the hub sends, as generated from Go and linked to each other. Types are gone at run time; these are
// what frames are checked by and what a snapshot is written by.

import { shapes } from "./shapes.gen.js";

/** A form as it is generated: others are named. */
export type ShapeSource =
  | { kind: "any" | "boolean" | "position" }
  | { kind: "integer" | "number"; min?: number; max?: number }
  | { kind: "string"; minLength?: number; maxLength?: number; values?: string[]; pattern?: string }
  | { kind: "list"; of: ShapeSource | string; minLength?: number; maxLength?: number }
  | { kind: "map"; key: ShapeSource | string; of: ShapeSource | string }
  | { kind: "object"; fields: Record<string, ShapeSource | string> }
  | { kind: "union"; tag: string; variants: Record<string, ShapeSource | string>; other?: ShapeSource | string }
  | { kind: "choice"; options: { of: ShapeSource | string; keepsZero: boolean }[] };

/** One key of an object. */
export interface Field {
  name: string;
  optional: boolean;
  /** An empty value is something else than no value. */
  keepsZero: boolean;
  /** What the object's first field says where no value is null instead of being left out. */
  nullIn?: string | undefined;
  shape: Shape;
}

export interface ObjectShape {
  kind: "object";
  fields: Field[];
  byName: Map<string, Field>;
}

/** A form, linked to those it is made of. */
export type Shape =
  | { kind: "any" | "boolean" | "position" }
  | { kind: "integer" | "number"; min: number; max: number }
  | { kind: "string"; minLength: number; maxLength: number; values: Set<string> | undefined; pattern: RegExp | undefined }
  | { kind: "list"; of: Shape; minLength: number; maxLength: number }
  | { kind: "map"; key: Shape; of: Shape }
  | ObjectShape
  | { kind: "union"; tag: string; variants: Map<string, Shape>; other: Shape | undefined }
  | { kind: "choice"; options: { of: Shape; keepsZero: boolean }[] };

const linked = new Map<string, Shape>();

/** The form with a name. */
export function shapeOf(name: string): Shape {
  const known = linked.get(name);
  if (known !== undefined) return known;
  const source = shapes[name];
  if (source === undefined) throw new Error(`there is no form ${name}`);
  // Forms may contain themselves, so it must be known before it is filled.
  const shape = {} as Shape;
  linked.set(name, shape);
  return Object.assign(shape, link(source));
}

function use(source: ShapeSource | string): Shape {
  return typeof source === "string" ? shapeOf(source) : link(source);
}

function link(source: ShapeSource): Shape {
  switch (source.kind) {
    case "any":
    case "boolean":
    case "position":
      return { kind: source.kind };
    case "integer":
    case "number":
      return { kind: source.kind, min: source.min ?? -Infinity, max: source.max ?? Infinity };
    case "string":
      return {
        kind: "string",
        minLength: source.minLength ?? 0,
        maxLength: source.maxLength ?? Infinity,
        values: source.values && new Set(source.values),
        pattern: source.pattern === undefined ? undefined : new RegExp(source.pattern, "u"),
      };
    case "list":
      return { kind: "list", of: use(source.of), minLength: source.minLength ?? 0, maxLength: source.maxLength ?? Infinity };
    case "map":
      return { kind: "map", key: use(source.key), of: use(source.of) };
    case "object":
      return linkObject(source.fields);
    case "union": {
      const variants = new Map<string, Shape>();
      for (const [tag, of] of Object.entries(source.variants)) variants.set(tag, use(of));
      return { kind: "union", tag: source.tag, variants, other: source.other === undefined ? undefined : use(source.other) };
    }
    case "choice":
      return { kind: "choice", options: source.options.map((o) => ({ of: use(o.of), keepsZero: o.keepsZero })) };
  }
}

function linkObject(fields: Record<string, ShapeSource | string>): ObjectShape {
  const list = Object.entries(fields).map(([key, of]): Field => {
    const [name, how] = key.split("?") as [string, string?];
    const nullIn = how?.startsWith("=") ? how.slice(1) : undefined;
    return { name, optional: how !== undefined, keepsZero: how === "!", nullIn, shape: use(of) };
  });
  return { kind: "object", fields: list, byName: new Map(list.map((f) => [f.name, f])) };
}
