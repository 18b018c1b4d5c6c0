// The table of all sessions, kept from what is pushed. A whole table may come in several parts; until the last one is
// there the old table stands, so that nothing flickers.

import type { Row, Rows } from "../api/types.js";

export interface Table {
  readonly rows: ReadonlyMap<string, Row>;
  /** What has come of a whole table so far. */
  readonly coming?: ReadonlyMap<string, Row>;
  /** Whether a whole table has come. */
  readonly whole: boolean;
}

export const emptyTable: Table = { rows: new Map(), whole: false };

/** The table after a change. */
export function merged(table: Table, change: Rows): Table {
  if (change.full === true || table.coming !== undefined) {
    // What is full begins anew, whatever was on its way.
    const coming = new Map(change.full === true ? [] : table.coming);
    apply(coming, change);
    return change.more === true ? { ...table, coming } : { rows: coming, whole: true };
  }
  const rows = new Map(table.rows);
  apply(rows, change);
  return { ...table, rows };
}

function apply(to: Map<string, Row>, change: Rows): void {
  for (const row of change.rows ?? []) to.set(row.sessionId, row);
  for (const id of change.gone ?? []) to.delete(id);
}

/** A connection was lost: what was on its way is not coming any more. */
export function torn(table: Table): Table {
  return table.coming === undefined ? table : { rows: table.rows, whole: table.whole };
}
