// Rows older than those of the desktop state: loaded from the archive page by page.

import type { DesktopState, HistoryRewound, MonitorID, UIRow } from "../../../core/src/index.js";
import { firstMonitor } from "../../../core/src/index.js";

export interface Older {
  /** By ts, as in the desktop state. */
  readonly rows: ReadonlyMap<number, UIRow>;
  readonly size: number;
  /** Whether the archive has more; undefined before the first page. */
  readonly more: boolean | undefined;
}

/** The limits of the rows kept, in rows and characters. */
export const maxOlder = { rows: 3_000, size: 8 << 20 } as const;

/** The number of rows per request. */
export const pageSize = 200;

export const noOlder: Older = { rows: new Map(), size: 0, more: undefined };

/** The estimated size of a row, in characters. */
function sizeOf(row: UIRow): number {
  return (row.images ?? []).reduce((n, image) => n + image.length, 100 + (row.text?.length ?? 0) + (row.reasoning?.length ?? 0));
}

export function isFull(o: Older): boolean {
  return o.rows.size >= maxOlder.rows || o.size >= maxOlder.size;
}

/** Adds a page of the archive. */
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

/**
 * Keeps rows that the desktop state has just dropped because it has too many, so that there is no gap between the two.
 */
export function withEvicted(o: Older, before: DesktopState["rows"], now: DesktopState["rows"], monitor: MonitorID): Older {
  if (o.rows.size === 0 || now.size === 0) return o;
  let oldest = Infinity;
  for (const ts of now.keys()) oldest = Math.min(oldest, ts);
  const fallen = [...before.values()].map((r) => r.row).filter((r) => r.ts < oldest && !now.has(r.ts) && (r.monitorId || firstMonitor) === monitor);
  return fallen.length === 0 ? o : withRows(o, fallen);
}

/** Whether a rewind removes a row. */
export function isRewound(row: UIRow, p: HistoryRewound): boolean {
  if (p.monitorId && (row.monitorId || firstMonitor) !== p.monitorId) return false;
  return (row.ts > p.ts && !p.kept?.includes(row.ts)) || (row.ts === p.ts && !p.included);
}

export function withoutRewound(o: Older, p: HistoryRewound): Older {
  const rows = [...o.rows.values()];
  const left = rows.filter((r) => !isRewound(r, p));
  return left.length === rows.length ? o : { ...withRows({ ...noOlder, more: o.more }, left) };
}

/** The rows of the desktop state and the older ones. On conflict, the row of the desktop state is the newer version. */
export function allRows(o: Older, rows: DesktopState["rows"]): DesktopState["rows"] {
  if (o.rows.size === 0) return rows;
  const all = new Map([...o.rows].map(([ts, row]) => [ts, { row, bytes: 0 }]));
  for (const [ts, row] of rows) all.set(ts, row);
  return all;
}

/** The id of the oldest known row of a monitor, to load the rows before it; undefined if no row has an id. */
export function oldestId(rows: DesktopState["rows"], monitor: MonitorID): number | undefined {
  let oldest: number | undefined;
  for (const { row } of rows.values()) {
    if (row.id && (row.monitorId || firstMonitor) === monitor && (oldest === undefined || row.id < oldest)) oldest = row.id;
  }
  return oldest;
}

/**
 * Whether there may be rows before those of the desktop state. Ids count all rows of the session from 1. `revision`
 * counts the rewinds, which may have removed all rows of the desktop state.
 */
export function mayHaveOlder(o: Older, rows: DesktopState["rows"], revision: number): boolean {
  if (o.more !== undefined) return o.more;
  let oldest = Infinity;
  for (const { row } of rows.values()) oldest = Math.min(oldest, row.id ?? Infinity);
  return rows.size === 0 ? revision > 0 : oldest !== Infinity && oldest > 1;
}

/** The number of rows below which the conversation may not fill its panel. */
const fewRows = 20;

/** Whether the desktop state has so few rows of a monitor that earlier ones are loaded automatically. */
export function hasFewRows(rows: DesktopState["rows"], monitor: MonitorID): boolean {
  let n = 0;
  for (const { row } of rows.values()) if ((row.monitorId || firstMonitor) === monitor && ++n >= fewRows) return false;
  return true;
}
