// What rows say about checkpoints: the states of files to which a rewind can return.

import type { UIRow } from "../../../core/src/index.js";

/** The checkpoint of a row. `safety` undoes a restore; `ts` is the row from which on a saved checkpoint holds. */
export interface RowCheckpoint {
  to: string;
  ts?: number;
  safety?: string;
  restored?: boolean;
}

/** The checkpoint that a row reports; undefined if it reports none. */
export function checkpointOf(row: UIRow): RowCheckpoint | undefined {
  const c = row.say === "checkpoint_saved" ? (row.checkpoint as Partial<RowCheckpoint> | undefined) : undefined;
  return typeof c?.to === "string" ? { ...c, to: c.to } : undefined;
}

/** Whether a row says that checkpoints are off, so that it offers to switch them on. */
export function saysCheckpointsOff(row: UIRow): boolean {
  return (row.checkpoint as { off?: unknown } | undefined)?.off === true;
}

/** Whether there is a checkpoint of the files at a row or before it. */
export function hasCheckpointAt(rows: Iterable<UIRow>, ts: number): boolean {
  for (const row of rows) {
    const c = checkpointOf(row);
    if (c?.ts !== undefined && c.ts <= ts) return true;
  }
  return false;
}
