// Positions in the log of a session: `<epoch>-<seq>`, two 64-bit numbers, compared as text because a JavaScript number is too small.

import type { Position } from "./wire.gen.js";

/** The position before every event. */
export const zero: Position = "0-0";

/** Compares two positions: negative if a is before b. */
export function comparePositions(a: Position, b: Position): number {
  if (a === b) return 0;
  const i = a.indexOf("-");
  const j = b.indexOf("-");
  return compareCounts(a.slice(0, i), b.slice(0, j)) || compareCounts(a.slice(i + 1), b.slice(j + 1));
}

/** Compares two decimal numbers without leading zeros: the longer one is larger. */
function compareCounts(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
