// Which rows of a long table are in the document: the visible ones, and a few around them.

export const rowHeight = 30;
const overscan = 8;

export interface RowRange {
  /** The first row, and the one after the last. */
  readonly from: number;
  readonly to: number;
}

/** The rows to render for a scroll position and a height. */
export function visibleRange(count: number, scrolled: number, height: number, row = rowHeight): RowRange {
  const first = Math.floor(Math.max(0, scrolled) / row);
  const seen = Math.ceil(Math.max(0, height) / row) + 1;
  // A table that became shorter is shown at its end.
  const from = Math.max(0, Math.min(first, count - seen) - overscan);
  return { from, to: Math.min(count, Math.min(first, Math.max(0, count - seen)) + seen + overscan) };
}

/** The scroll position that makes a row visible; the current one if it is. */
export function scrollToRow(index: number, scrolled: number, height: number, row = rowHeight): number {
  const top = index * row;
  if (top < scrolled) return top;
  if (top + row > scrolled + height) return top + row - height;
  return scrolled;
}

/** The cell that a key leads to; undefined for other keys. */
export function cellAfterKey(key: string, at: { row: number; column: number }, size: { rows: number; columns: number }, page: number): { row: number; column: number } | undefined {
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
