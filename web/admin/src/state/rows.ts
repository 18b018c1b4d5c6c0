// The table of all sessions, updated by the event stream. A full table may arrive in several parts; the old table stays
// until the last one, so that nothing flickers.

import type { Row, Rows } from "../api/types.js";

export interface Table {
  readonly rows: ReadonlyMap<string, Row>;
  /** The parts of a full table received so far. */
  readonly incoming?: ReadonlyMap<string, Row>;
  /** Whether a full table has been received. */
  readonly complete: boolean;
}

export const emptyTable: Table = { rows: new Map(), complete: false };

/** Applies a change. */
export function applyRows(table: Table, change: Rows): Table {
  if (change.full === true || table.incoming !== undefined) {
    // A new full table replaces an incomplete one.
    const coming = new Map(change.full === true ? [] : table.incoming);
    updateRows(coming, change);
    return change.more === true ? { ...table, incoming: coming } : { rows: coming, complete: true };
  }
  const rows = new Map(table.rows);
  updateRows(rows, change);
  return { ...table, rows };
}

function updateRows(target: Map<string, Row>, change: Rows): void {
  for (const row of change.rows ?? []) target.set(row.sessionId, row);
  for (const id of change.gone ?? []) target.delete(id);
}

/** Drops an incomplete table after a lost connection. */
export function withoutIncoming(table: Table): Table {
  return table.incoming === undefined ? table : { rows: table.rows, complete: table.complete };
}
