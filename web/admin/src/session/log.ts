// The end of a session's log, as far as the page keeps it.

import { comparePositions, zero } from "../../../core/src/position.js";
import type { Detail, LogEvent, Row } from "../api/types.js";

/** As many events are kept; the oldest go. */
export const mostEvents = 2000;

/** How far back a tail begins. */
const behind = 200n;

export interface Log {
  readonly events: readonly LogEvent[];
  /** What came while it was paused. */
  readonly held: readonly LogEvent[];
  readonly paused: boolean;
  /** Events that were skipped, because the log has not got them any more. */
  readonly trimmed: boolean;
}

export const emptyLog: Log = { events: [], held: [], paused: false, trimmed: false };

/** The log with more events. What comes again after a lost connection is not shown twice. */
export function applied(log: Log, more: readonly LogEvent[]): Log {
  const last = (log.held.at(-1) ?? log.events.at(-1))?.message_id;
  const fresh = last === undefined ? more : more.filter((e) => e.message_id === undefined || comparePositions(e.message_id, last) > 0);
  if (fresh.length === 0) return log;
  if (log.paused) return { ...log, held: [...log.held, ...fresh].slice(-mostEvents) };
  return { ...log, events: [...log.events, ...fresh].slice(-mostEvents) };
}

export function paused(log: Log, is: boolean): Log {
  if (is) return { ...log, paused: true };
  return { ...log, paused: false, held: [], events: [...log.events, ...log.held].slice(-mostEvents) };
}

/** Where to begin so that some events before the newest are seen too. Numbers begin anew with every owner, so those of the one before are wanted as well. */
export function beginningOf({ row, owners }: Pick<Detail, "owners"> & { row: Pick<Row, "top"> }): string {
  const at = parsed(row.top ?? "");
  if (at === undefined) return zero;
  if (at.seq > behind) return `${at.epoch}-${at.seq - behind}`;
  return owners[1] === undefined ? zero : `${owners[1].epoch}-0`;
}

/** Where to begin so that a position is the first event; undefined if it is none. */
export function justBefore(text: string): string | undefined {
  const at = parsed(text.trim());
  if (at === undefined) return undefined;
  if (at.seq > 0n) return `${at.epoch}-${at.seq - 1n}`;
  return at.epoch > 0n ? `${at.epoch - 1n}-${lastSeq}` : zero;
}

const lastSeq = 2n ** 64n - 1n;

function parsed(text: string): { epoch: bigint; seq: bigint } | undefined {
  const [, epoch, seq] = /^(0|[1-9]\d{0,18})-(0|[1-9]\d{0,18})$/.exec(text) ?? [];
  return epoch === undefined || seq === undefined ? undefined : { epoch: BigInt(epoch), seq: BigInt(seq) };
}

/** Whom an event is about, as far as it says. */
export function aboutOf(e: LogEvent): { agent: string; monitor: string } {
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
