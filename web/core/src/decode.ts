// Decodes JSON by a shape, as strictly as the Go side. Most frames are exactly what JSON.parse returns; `isExact` detects
// them. `decodeText` decodes the others without loss.

import { accepts, putMap } from "./encode.js";
import { keepExact } from "./exact.js";
import type { ObjectShape, Shape } from "./shape.js";

/** The text is not JSON, or does not have the expected shape. */
export class DecodeError extends Error {}

const maxDepth = 96;
const maxFreeDepth = 32;

/** Whether a parsed value has the shape and decoding would neither drop nor change anything in it. */
export function isExact(shape: Shape, value: unknown): boolean {
  if (!accepts(shape, value)) return false;
  switch (shape.kind) {
    case "any":
      return nesting(value) <= maxFreeDepth;
    case "integer":
      return Number.isInteger(value) && inRange(shape, value as number);
    case "number":
      return inRange(shape, value as number);
    case "string":
      return goodText(shape, value as string) && (value as string).isWellFormed();
    case "position":
      return isPosition(value as string);
    case "list":
      return goodLength(shape, (value as unknown[]).length) && (value as unknown[]).every((v) => isExact(shape.of, v));
    case "map":
      return Object.entries(value as object).every(([k, v]) => isExact(shape.key, k) && isExact(shape.of, v));
    case "object":
      return plainFields(shape, value as Record<string, unknown>);
    case "union": {
      const tag = (value as Record<string, unknown>)[shape.tag];
      if (typeof tag !== "string") return false;
      const variant = shape.variants.get(tag) ?? shape.other;
      return variant !== undefined && plainFields(variant as ObjectShape, value as Record<string, unknown>);
    }
    case "choice": {
      const option = shape.options.find((o) => accepts(o.of, value));
      return option !== undefined && isExact(option.of, value);
    }
    default:
      return true;
  }
}

function plainFields(shape: ObjectShape, object: Record<string, unknown>): boolean {
  for (const f of shape.fields) {
    const value = object[f.name];
    if (value === undefined ? f.optional : value === null ? f.nullIn !== undefined || (!f.optional && f.shape.kind === "any") : isExact(f.shape, value)) continue;
    return false;
  }
  return true;
}

/** The nesting depth of the arrays and objects of a parsed value. */
function nesting(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let deepest = 0;
  for (const v of Array.isArray(value) ? value : Object.values(value)) deepest = Math.max(deepest, nesting(v));
  return deepest + 1;
}

function inRange(shape: { min: number; max: number }, n: number): boolean {
  return Number.isFinite(n) && n >= shape.min && n <= shape.max;
}

function goodLength(shape: { minLength: number; maxLength: number }, n: number): boolean {
  return n >= shape.minLength && n <= shape.maxLength;
}

function goodText(shape: Shape & { kind: "string" }, text: string): boolean {
  if (shape.values !== undefined) return shape.values.has(text);
  if (shape.pattern !== undefined && !shape.pattern.test(text)) return false;
  if (shape.minLength === 0 && shape.maxLength === Infinity) return true;
  return goodLength(shape, [...text].length);
}

const positionForm = /^(0|[1-9][0-9]{0,19})-(0|[1-9][0-9]{0,19})$/;
const maxUint64 = "18446744073709551615";

/** Whether a text is a position: two 64-bit numbers. */
export function isPosition(text: string): boolean {
  const m = positionForm.exec(text);
  return m !== null && [m[1]!, m[2]!].every((n) => n.length < 20 || n <= maxUint64);
}

/** Decodes a text by a shape. Throws a DecodeError. */
export function decodeText(shape: Shape, text: string): unknown {
  const node = new Parser(text).whole();
  return decodeNode(shape, node, text);
}

/** A value in a text: its range and its parts. */
interface Node {
  kind: "object" | "array" | "string" | "number" | "word";
  from: number;
  to: number;
  depth: number;
  /** The members of an object in order of the text; keys may repeat. */
  members: { key: string; value: Node }[];
  items: Node[];
}

function decodeNode(shape: Shape, node: Node, text: string): unknown {
  const source = text.slice(node.from, node.to);
  const simple = (): unknown => JSON.parse(source);
  switch (shape.kind) {
    case "any":
      if (node.depth > maxFreeDepth) throw new DecodeError("a free-form value is nested too deep");
      return simple();
    case "integer": {
      const n = want(shape, node, simple()) as number;
      if (!Number.isInteger(n) || !inRange(shape, n)) throw new DecodeError(`${source} is no integer that fits`);
      return n + 0;
    }
    case "number": {
      const n = want(shape, node, simple()) as number;
      if (!inRange(shape, n)) throw new DecodeError(`${source} is out of range`);
      return n;
    }
    case "string": {
      const s = (want(shape, node, simple()) as string).toWellFormed();
      if (!goodText(shape, s)) throw new DecodeError(`${source.slice(0, 80)} is not allowed here`);
      return s;
    }
    case "position": {
      const s = want(shape, node, simple()) as string;
      if (!isPosition(s)) throw new DecodeError(`${source.slice(0, 80)} is no position`);
      return s;
    }
    case "boolean":
      return want(shape, node, simple());
    case "list":
      want(shape, node);
      if (!goodLength(shape, node.items.length)) throw new DecodeError(`${node.items.length} items do not fit`);
      return node.items.map((n) => decodeNode(shape.of, n, text));
    case "map":
      want(shape, node);
      return Object.fromEntries(decodeMap(shape, node, text));
    case "object":
      want(shape, node);
      return decodeFields(shape, node, text, {});
    case "union":
      return decodeUnion(shape, node, text);
    case "choice": {
      const option = shape.options.find((o) => fits(o.of, node, text));
      if (option === undefined) throw new DecodeError(`${source.slice(0, 80)} is not one of the kinds that fit`);
      return decodeNode(option.of, node, text);
    }
  }
}

function fits(shape: Shape, node: Node, text: string): boolean {
  switch (shape.kind) {
    case "any":
    case "choice":
      return true;
    case "boolean":
      return node.kind === "word" && text[node.from] !== "n";
    case "integer":
    case "number":
      return node.kind === "number";
    case "string":
    case "position":
      return node.kind === "string";
    case "list":
      return node.kind === "array";
    default:
      return node.kind === "object";
  }
}

function want(shape: Shape, node: Node, value?: unknown): unknown {
  const kind = { boolean: "word", integer: "number", number: "number", string: "string", position: "string", list: "array" }[
    shape.kind as string
  ];
  if (node.kind !== (kind ?? "object") || value === null) throw new DecodeError(`want ${shape.kind}, got ${node.kind}`);
  return value;
}

function decodeMap(shape: Shape & { kind: "map" }, node: Node, text: string): [string, unknown][] {
  const out: [string, unknown][] = [];
  for (const { key, value } of node.members) {
    if (shape.key.kind === "string" && !goodText(shape.key, key)) throw new DecodeError(`${key.slice(0, 80)} is no key here`);
    if (isNull(value, text) && shape.of.kind !== "any") continue;
    out.push([key, decodeNode(shape.of, value, text)]);
  }
  return out;
}

function isNull(node: Node, text: string): boolean {
  return node.kind === "word" && text[node.from] === "n";
}

function decodeFields(shape: ObjectShape, node: Node, text: string, out: Record<string, unknown>): unknown {
  const seen = new Set<string>();
  for (const { key, value } of node.members) {
    const f = shape.byName.get(key);
    if (f === undefined || seen.has(key)) continue; // an unknown field of a newer hub, or a repeated key: the first one wins
    seen.add(key);
    if (f.optional && isNull(value, text)) continue;
    if (f.shape.kind === "map") {
      want(f.shape, value);
      putMap(out, f.name, f.shape.of, decodeMap(f.shape, value, text));
      continue;
    }
    out[f.name] = decodeNode(f.shape, value, text);
    if (f.shape.kind === "any") {
      const source = compact(text, value);
      if (JSON.stringify(out[f.name]) !== source) keepExact(out, f.name, source);
    }
  }
  const missing = shape.fields.find((f) => !f.optional && !seen.has(f.name));
  if (missing !== undefined) throw new DecodeError(`${missing.name} is required`);
  return out;
}

function decodeUnion(shape: Shape & { kind: "union" }, node: Node, text: string): unknown {
  want(shape, node);
  const member = node.members.find((m) => m.key === shape.tag);
  if (member?.value.kind !== "string") throw new DecodeError(`${shape.tag} is required`);
  const tag = (JSON.parse(text.slice(member.value.from, member.value.to)) as string).toWellFormed();
  const variant = shape.variants.get(tag);
  if (variant !== undefined) return decodeFields(variant as ObjectShape, node, text, { [shape.tag]: tag });
  if (shape.other === undefined) throw new DecodeError(`${tag.slice(0, 80)} is no ${shape.tag}`);
  return decodeFields(shape.other as ObjectShape, node, text, {});
}

/** The text of a value without white space between tokens. */
function compact(text: string, node: Node): string {
  const source = text.slice(node.from, node.to);
  return source.replace(/"(?:[^"\\]|\\.)*"|[ \n\r\t]+/g, (token) => (token[0] === '"' ? token : ""));
}

/** Finds the ranges of the values in a text. JSON.parse decodes the scalars. */
class Parser {
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  whole(): Node {
    try {
      JSON.parse(this.text); // validates the whole text, so that the parser below need not
    } catch {
      throw new DecodeError("this is no JSON");
    }
    return this.value(0);
  }

  private skip(): string {
    while (" \n\r\t,:".includes(this.text[this.at] ?? "x")) this.at++;
    return this.text[this.at] ?? "";
  }

  private value(outer: number): Node {
    const first = this.skip();
    const node: Node = { kind: "word", from: this.at, to: 0, depth: 0, members: [], items: [] };
    if (first === "{" || first === "[") this.nested(node, first, outer);
    else if (first === '"') {
      node.kind = "string";
      this.string();
    } else {
      if (first === "-" || (first >= "0" && first <= "9")) node.kind = "number";
      while (!",]} \n\r\t".includes(this.text[this.at] ?? ",")) this.at++;
    }
    node.to = this.at;
    return node;
  }

  private nested(node: Node, open: string, outer: number): void {
    node.kind = open === "{" ? "object" : "array";
    const close = open === "{" ? "}" : "]";
    if (outer >= maxDepth) throw new DecodeError("JSON is nested too deep");
    this.at++;
    let deepest = 0;
    while (this.skip() !== close) {
      let key = "";
      if (open === "{") {
        const from = this.at;
        this.string();
        key = (JSON.parse(this.text.slice(from, this.at)) as string).toWellFormed();
      }
      const value = this.value(outer + 1);
      deepest = Math.max(deepest, value.depth);
      if (open === "{") node.members.push({ key, value });
      else node.items.push(value);
    }
    this.at++;
    node.depth = deepest + 1;
  }

  private string(): void {
    for (this.at++; this.text[this.at] !== '"'; this.at++) {
      if (this.text[this.at] === "\\") this.at++;
    }
    this.at++;
  }
}
