// The shapes of the hub's messages, generated from Go and linked to each other. Types do not exist at run time; shapes
// validate frames and encode snapshots.

import { shapes } from "./shapes.gen.js";

/** A generated shape, which refers to other shapes by name. */
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
  /** Whether an empty value differs from an absent one. */
  keepsZero: boolean;
  /** The value of the object's first field for which an absent value is encoded as null instead of omitted. */
  nullIn?: string | undefined;
  shape: Shape;
}

export interface ObjectShape {
  kind: "object";
  fields: Field[];
  byName: Map<string, Field>;
}

/** A shape, linked to the shapes it consists of. */
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

/** Returns a shape by name. */
export function shapeOf(name: string): Shape {
  const known = linked.get(name);
  if (known !== undefined) return known;
  const source = shapes[name];
  if (source === undefined) throw new Error(`there is no form ${name}`);
  // Shapes may be recursive, so the object is registered before it is filled.
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
