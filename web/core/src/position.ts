// Positions in a session's log: `<epoch>-<seq>`, two numbers of 64 bits, which are more than a number here can hold.

import type { Position } from "./wire.gen.js";

/** The position before every event. */
export const zero: Position = "0-0";

/** The order of two positions: negative when a is before b. */
export function comparePositions(a: Position, b: Position): number {
  if (a === b) return 0;
  const i = a.indexOf("-");
  const j = b.indexOf("-");
  return compareCounts(a.slice(0, i), b.slice(0, j)) || compareCounts(a.slice(i + 1), b.slice(j + 1));
}

/** There are no leading zeros, so the longer one is the larger one. */
function compareCounts(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
