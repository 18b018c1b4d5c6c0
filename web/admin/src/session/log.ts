// The end of a session's log, as kept by the page.

import { comparePositions, zero } from "../../../core/src/position.js";
import type { Detail, LogEvent, Row } from "../api/types.js";

/** The maximum number of events; the oldest are dropped. */
export const maxEvents = 2000;

/** The number of earlier events that a tail starts with. */
const initialEvents = 200n;

export interface Log {
  readonly events: readonly LogEvent[];
  /** The events received while paused. */
  readonly buffered: readonly LogEvent[];
  readonly paused: boolean;
  /** Whether events were skipped because the log no longer has them. */
  readonly trimmed: boolean;
}

export const emptyLog: Log = { events: [], buffered: [], paused: false, trimmed: false };

/** Appends events. Events that are delivered again after a reconnect are dropped. */
export function appendEvents(log: Log, more: readonly LogEvent[]): Log {
  const last = (log.buffered.at(-1) ?? log.events.at(-1))?.message_id;
  const added = last === undefined ? more : more.filter((e) => e.message_id === undefined || comparePositions(e.message_id, last) > 0);
  if (added.length === 0) return log;
  if (log.paused) return { ...log, buffered: [...log.buffered, ...added].slice(-maxEvents) };
  return { ...log, events: [...log.events, ...added].slice(-maxEvents) };
}

export function setPaused(log: Log, is: boolean): Log {
  if (is) return { ...log, paused: true };
  return { ...log, paused: false, buffered: [], events: [...log.events, ...log.buffered].slice(-maxEvents) };
}

/**
 * The position to start from, so that some earlier events are shown. Sequence numbers restart with every owner, so the
 * events of the previous owner are included.
 */
export function tailStart({ row, owners }: Pick<Detail, "owners"> & { row: Pick<Row, "top"> }): string {
  const at = parsePosition(row.top ?? "");
  if (at === undefined) return zero;
  if (at.seq > initialEvents) return `${at.epoch}-${at.seq - initialEvents}`;
  return owners[1] === undefined ? zero : `${owners[1].epoch}-0`;
}

/** The position to start from so that the given one is the first event; undefined if the text is no position. */
export function positionBefore(text: string): string | undefined {
  const at = parsePosition(text.trim());
  if (at === undefined) return undefined;
  if (at.seq > 0n) return `${at.epoch}-${at.seq - 1n}`;
  return at.epoch > 0n ? `${at.epoch - 1n}-${lastSeq}` : zero;
}

const lastSeq = 2n ** 64n - 1n;

function parsePosition(text: string): { epoch: bigint; seq: bigint } | undefined {
  const [, epoch, seq] = /^(0|[1-9]\d{0,18})-(0|[1-9]\d{0,18})$/.exec(text) ?? [];
  return epoch === undefined || seq === undefined ? undefined : { epoch: BigInt(epoch), seq: BigInt(seq) };
}

/** The agent and monitor that an event concerns, if it names them. */
export function subjectOf(e: LogEvent): { agent: string; monitor: string } {
  const data = typeof e.data === "object" && e.data !== null ? (e.data as Record<string, unknown>) : {};
  const text = (...names: string[]): string => {
    for (const name of names) if (typeof data[name] === "string") return data[name];
    return "";
  };
  return { agent: text("agentId", "agent_id"), monitor: text("monitorId", "monitor_id") };
}

/** An event in one line. */
export function lineOf(e: LogEvent): string {
  return JSON.stringify(e.data ?? {}).slice(0, 300);
}
