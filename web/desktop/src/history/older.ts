// Rows that are older than those the desktop has: read from the archive page by page, and kept as long as they are looked at.

import type { DesktopState, HistoryRewound, MonitorID, UIRow } from "../../../core/src/index.js";
import { firstMonitor } from "../../../core/src/index.js";

export interface Older {
  /** By ts, as the desktop has them. */
  readonly rows: ReadonlyMap<number, UIRow>;
  readonly size: number;
  /** There is more in the archive; undefined before it was asked. */
  readonly more: boolean | undefined;
}

/** How much of it a page keeps. */
export const mostOlder = { rows: 3_000, size: 8 << 20 } as const;

/** How many rows come at once. */
export const pageSize = 200;

export const noOlder: Older = { rows: new Map(), size: 0, more: undefined };

/** What counts of a row. It is an estimate: characters, and not all of them. */
function sizeOf(row: UIRow): number {
  return (row.images ?? []).reduce((n, image) => n + image.length, 100 + (row.text?.length ?? 0) + (row.reasoning?.length ?? 0));
}

export function isFull(o: Older): boolean {
  return o.rows.size >= mostOlder.rows || o.size >= mostOlder.size;
}

/** Takes a page of the archive. */
export function withPage(o: Older, page: readonly UIRow[], more: boolean): Older {
  return { ...withRows(o, page), more: more && page.length > 0 };
}

function withRows(o: Older, rows: readonly UIRow[]): Older {
  const all = new Map(o.rows);
  let { size } = o;
  for (const row of rows) {
    size += sizeOf(row) - (all.has(row.ts) ? sizeOf(all.get(row.ts)!) : 0);
    all.set(row.ts, row);
  }
  return { ...o, rows: all, size };
}

/** Keeps what the desktop has just let go because it has too many rows, so that nothing is missing between the two. */
export function withFallen(o: Older, before: DesktopState["rows"], now: DesktopState["rows"], monitor: MonitorID): Older {
  if (o.rows.size === 0 || now.size === 0) return o;
  let oldest = Infinity;
  for (const ts of now.keys()) oldest = Math.min(oldest, ts);
  const fallen = [...before.values()].map((r) => r.row).filter((r) => r.ts < oldest && !now.has(r.ts) && (r.monitorId || firstMonitor) === monitor);
  return fallen.length === 0 ? o : withRows(o, fallen);
}

/** Whether a row goes with a rewind. */
export function goes(row: UIRow, p: HistoryRewound): boolean {
  if (p.monitorId && (row.monitorId || firstMonitor) !== p.monitorId) return false;
  return (row.ts > p.ts && !p.kept?.includes(row.ts)) || (row.ts === p.ts && !p.included);
}

export function withoutRewound(o: Older, p: HistoryRewound): Older {
  const rows = [...o.rows.values()];
  const left = rows.filter((r) => !goes(r, p));
  return left.length === rows.length ? o : { ...withRows({ ...noOlder, more: o.more }, left) };
}

/** The rows of the desktop and the older ones. The desktop's are the newer versions. */
export function allRows(o: Older, rows: DesktopState["rows"]): DesktopState["rows"] {
  if (o.rows.size === 0) return rows;
  const all = new Map([...o.rows].map(([ts, row]) => [ts, { row, bytes: 0 }]));
  for (const [ts, row] of rows) all.set(ts, row);
  return all;
}

/** The id of the oldest row of a monitor that is known, to read on from; undefined when none has one. */
export function oldestId(rows: DesktopState["rows"], monitor: MonitorID): number | undefined {
  let oldest: number | undefined;
  for (const { row } of rows.values()) {
    if (row.id && (row.monitorId || firstMonitor) === monitor && (oldest === undefined || row.id < oldest)) oldest = row.id;
  }
  return oldest;
}

/** Whether there may be rows before those of the desktop. Ids count all rows of the session from 1 on; `revision` counts the rewinds, which can leave the desktop none. */
export function mayHaveOlder(o: Older, rows: DesktopState["rows"], revision: number): boolean {
  if (o.more !== undefined) return o.more;
  let oldest = Infinity;
  for (const { row } of rows.values()) oldest = Math.min(oldest, row.id ?? Infinity);
  return rows.size === 0 ? revision > 0 : oldest !== Infinity && oldest > 1;
}

/** So few rows may not fill a page. */
const short = 20;

/** Whether a desktop has so little of a monitor that what is before it is read without being asked for. */
export function isShort(rows: DesktopState["rows"], monitor: MonitorID): boolean {
  let n = 0;
  for (const { row } of rows.values()) if ((row.monitorId || firstMonitor) === monitor && ++n >= short) return false;
  return true;
}
