// Decodes the frames of the hub into events.

import { decodeText, isExact, isPosition } from "./decode.js";
import { zero } from "./position.js";
import { type Shape, shapeOf } from "./shape.js";
import { payloads } from "./shapes.gen.js";
import type { Position, ServerPayloads, SessionID } from "./wire.gen.js";

/** The envelope of an event. */
export interface Head {
  type: string;
  session: SessionID;
  /** The position in the log; zero for events outside the log. */
  at: Position;
  /** The time of the event, in Unix ms. */
  time: number;
}

/** A decoded event, discriminated by `type`. */
export type KnownEvent = {
  [T in keyof ServerPayloads]: Head & { type: T; data: ServerPayloads[T] };
}[keyof ServerPayloads];

/** An event whose payload could not be decoded, such as one of a newer hub. */
export interface UnknownEvent extends Head {
  type: "";
  name: string;
}

export type HubEvent = KnownEvent | UnknownEvent;

/** Decodes the lines of a frame; with everdesk.v2.batch there may be several. */
export function decodeFrame(frame: string): { events: HubEvent[]; unreadable: number } {
  const events: HubEvent[] = [];
  let unreadable = 0;
  for (const line of frame.split("\n")) {
    if (line === "") continue;
    const event = decodeEvent(line);
    if (event === undefined) unreadable++;
    else events.push(event);
  }
  return { events, unreadable };
}

interface Envelope {
  type?: unknown;
  session_id?: unknown;
  message_id?: unknown;
  timestamp?: unknown;
  data?: unknown;
}

/** The time of an event without one: the year 1, Go's zero time. */
const noTime = -62_135_596_800_000;

/** Decodes one event; undefined if the line is not an event. */
export function decodeEvent(line: string): HubEvent | undefined {
  let env: Envelope;
  try {
    env = JSON.parse(line) as Envelope;
  } catch {
    return undefined;
  }
  if (typeof env !== "object" || env === null || typeof env.type !== "string" || env.type === "") return undefined;
  const at = typeof env.message_id === "string" && isPosition(env.message_id) ? env.message_id : zero;
  const time = env.timestamp === undefined ? noTime : Date.parse(String(env.timestamp));
  const head = { session: typeof env.session_id === "string" ? env.session_id : "", at, time };
  const name = Object.hasOwn(payloads, env.type) ? payloads[env.type] : undefined;
  const data = name === undefined || Number.isNaN(time) ? undefined : payload(name, env, line);
  if (data === undefined) return { type: "", name: env.type, ...head };
  return { type: env.type, ...head, data } as KnownEvent;
}

/** The payload of an event; undefined if it does not have the shape of its type. */
function payload(name: string, env: Envelope, line: string): unknown {
  const shape = shapeOf(name);
  const data = env.data ?? {};
  // A value that encodes to the same text lost nothing in JSON.parse.
  if (isExact(shape, data) && (!hasFreeForm(shape) || JSON.stringify(env) === line)) return data;
  try {
    const field = { name: "data", optional: true, keepsZero: true, shape };
    const frame = decodeText({ kind: "object", fields: [field], byName: new Map([["data", field]]) }, line);
    return (frame as { data?: unknown }).data ?? decodeText(shape, "{}");
  } catch {
    return undefined;
  }
}

const freeForms = new Map<Shape, boolean>();

/** Whether a shape contains values that JSON.parse may change: free-form values and maps. */
function hasFreeForm(shape: Shape): boolean {
  let known = freeForms.get(shape);
  if (known === undefined) {
    const all = new Set<Shape>();
    collect(shape, all);
    known = [...all].some((s) => s.kind === "any" || s.kind === "map");
    freeForms.set(shape, known);
  }
  return known;
}

function collect(shape: Shape, all: Set<Shape>): void {
  if (all.has(shape)) return;
  all.add(shape);
  if (shape.kind === "object") for (const f of shape.fields) collect(f.shape, all);
  if (shape.kind === "list" || shape.kind === "map") collect(shape.of, all);
  if (shape.kind === "choice") for (const o of shape.options) collect(o.of, all);
  if (shape.kind === "union") for (const v of [...shape.variants.values(), shape.other]) if (v) collect(v, all);
}
