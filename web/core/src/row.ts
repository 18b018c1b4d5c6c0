// The rows of conversations.

import { type Draft, limits } from "./state.js";
import { utf8Length } from "./text.js";
import type { HistoryRewound, MessageUpdated, UIRow } from "./wire.gen.js";

/** Adds or replaces a row. */
export function setRow(d: Draft, p: MessageUpdated): void {
  const row = { ...p.message };
  row.monitorId ||= p.monitorId;
  row.agentId ||= p.agentId;
  row.messageId ||= p.messageId;
  putRow(d, row);
}

export function putRow(d: Draft, row: UIRow): void {
  d.desktop.rowBytes -= d.desktop.rows.get(row.ts)?.bytes ?? 0;
  const bytes = rowSize(row);
  d.desktop.rowBytes += bytes;
  const rows = d.edit("rows");
  rows.set(row.ts, { row, bytes });
  while (rows.size > limits.rows || (d.desktop.rowBytes > limits.rowBytes && rows.size > 1)) {
    let oldest = Infinity;
    for (const ts of rows.keys()) oldest = Math.min(oldest, ts);
    dropRow(d, oldest);
  }
}

/** The bytes of a row that count towards the limit. */
function rowSize(row: UIRow): number {
  const images = row.images ?? [];
  return images.reduce((n, image) => n + utf8Length(image), utf8Length(row.text ?? "") + utf8Length(row.reasoning ?? ""));
}

function dropRow(d: Draft, ts: number): void {
  d.desktop.rowBytes -= d.desktop.rows.get(ts)!.bytes;
  d.drop("rows", ts);
}

/** Removes a row and the later ones except those that stay, and refills the list with older rows. */
export function rewind(d: Draft, p: HistoryRewound): void {
  for (const [ts, { row }] of [...d.desktop.rows]) {
    const goes = (ts > p.ts && !p.kept?.includes(ts)) || (ts === p.ts && !p.included);
    if (goes && (!p.monitorId || row.monitorId === p.monitorId)) dropRow(d, ts);
  }
  for (const row of p.restored ?? []) putRow(d, { ...row, monitorId: row.monitorId || p.monitorId });
}
