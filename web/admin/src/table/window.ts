// Which rows of a long table are in the document: those that can be seen, and a few around them.

export const rowHeight = 30;
const around = 8;

export interface Span {
  /** The first row, and the one behind the last. */
  readonly from: number;
  readonly to: number;
}

/** The rows to draw, given how far a view is scrolled and how high it is. */
export function spanOf(count: number, scrolled: number, height: number, row = rowHeight): Span {
  const first = Math.floor(Math.max(0, scrolled) / row);
  const seen = Math.ceil(Math.max(0, height) / row) + 1;
  // A table that became shorter is shown at its end.
  const from = Math.max(0, Math.min(first, count - seen) - around);
  return { from, to: Math.min(count, Math.min(first, Math.max(0, count - seen)) + seen + around) };
}

/** How far to scroll so that a row can be seen; as far as it is if it can. */
export function scrollTo(index: number, scrolled: number, height: number, row = rowHeight): number {
  const top = index * row;
  if (top < scrolled) return top;
  if (top + row > scrolled + height) return top + row - height;
  return scrolled;
}

/** Where a key leads in a grid; undefined for keys that lead nowhere. */
export function keyLeads(key: string, at: { row: number; column: number }, size: { rows: number; columns: number }, page: number): { row: number; column: number } | undefined {
  const row = (n: number): { row: number; column: number } => ({ ...at, row: Math.max(0, Math.min(size.rows - 1, n)) });
  const column = (n: number): { row: number; column: number } => ({ ...at, column: Math.max(0, Math.min(size.columns - 1, n)) });
  switch (key) {
    case "ArrowDown":
      return row(at.row + 1);
    case "ArrowUp":
      return row(at.row - 1);
    case "PageDown":
      return row(at.row + page);
    case "PageUp":
      return row(at.row - page);
    case "Home":
      return row(0);
    case "End":
      return row(size.rows - 1);
    case "ArrowRight":
      return column(at.column + 1);
    case "ArrowLeft":
      return column(at.column - 1);
    default:
      return undefined;
  }
}
