// Where a dragged card lands. Pure.

/** The place of a card: its column, and its index there. */
export interface Place {
  readonly column: number;
  readonly item: number;
}

/** A rectangle on the page. */
export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** The column under a point, or the nearest one beside it; -1 if there are none. */
export function columnAt(columns: readonly Box[], x: number): number {
  let best = -1;
  let least = Infinity;
  columns.forEach((c, i) => {
    const far = x < c.left ? c.left - x : x > c.right ? x - c.right : 0;
    if (far < least) [best, least] = [i, far];
  });
  return best;
}

/** The index before which a card lands at a height: before the first card whose middle is below. */
export function itemAt(cards: readonly Box[], y: number): number {
  const at = cards.findIndex((c) => y < (c.top + c.bottom) / 2);
  return at < 0 ? cards.length : at;
}

/** The place of a card after it is moved with an arrow key; undefined if it cannot go there. */
export function steppedPlace(counts: readonly number[], from: Place, key: string): Place | undefined {
  switch (key) {
    case "ArrowUp":
      return from.item > 0 ? { column: from.column, item: from.item - 1 } : undefined;
    case "ArrowDown":
      return from.item + 1 < (counts[from.column] ?? 0) ? { column: from.column, item: from.item + 1 } : undefined;
    case "ArrowLeft":
    case "ArrowRight": {
      const column = from.column + (key === "ArrowLeft" ? -1 : 1);
      return counts[column] === undefined ? undefined : { column, item: Math.min(from.item, counts[column]) };
    }
    default:
      return undefined;
  }
}

/** The card that an arrow key leads to; a column without cards is skipped. */
export function neighbour(counts: readonly number[], from: Place, key: string): Place | undefined {
  const sideways = key === "ArrowLeft" ? -1 : key === "ArrowRight" ? 1 : 0;
  if (sideways === 0) return steppedPlace(counts, from, key);
  for (let column = from.column + sideways; counts[column] !== undefined; column += sideways) {
    if (counts[column]! > 0) return { column, item: Math.min(from.item, counts[column]! - 1) };
  }
  return undefined;
}
