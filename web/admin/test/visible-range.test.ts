import { expect, test } from "vitest";
import { cellAfterKey, rowHeight, scrollToRow, visibleRange } from "../src/table/visible-range.js";

test("only visible rows of 10,000 are rendered, at every scroll position", () => {
  for (const scrolled of [0, 15, 29, 30, 5_000, 150_001, 299_400, 300_000, 9_999_999]) {
    const { from, to } = visibleRange(10_000, scrolled, 600);
    expect(to - from, `${scrolled}`).toBeLessThanOrEqual(600 / rowHeight + 1 + 16);
    expect(from).toBeGreaterThanOrEqual(0);
    expect(to).toBeLessThanOrEqual(10_000);
    if (scrolled > 300_000 - 600) continue;
    // All visible rows are included.
    expect(from * rowHeight).toBeLessThanOrEqual(scrolled);
    expect(to * rowHeight).toBeGreaterThanOrEqual(Math.min(scrolled + 600, 300_000));
  }
});

test("a table that became shorter is rendered at its end", () => {
  expect(visibleRange(5, 9_000, 600)).toEqual({ from: 0, to: 5 });
  expect(visibleRange(0, 9_000, 600)).toEqual({ from: 0, to: 0 });
  expect(visibleRange(100, 9_000, 600).to).toBe(100);
});

test("scrolling to a row moves only as far as needed", () => {
  expect(scrollToRow(0, 90, 300)).toBe(0);
  expect(scrollToRow(5, 90, 300)).toBe(90);
  expect(scrollToRow(12, 90, 300)).toBe(13 * rowHeight - 300);
  expect(scrollToRow(20, 90, 300)).toBe(21 * rowHeight - 300);
});

test("keys move within the table", () => {
  const size = { rows: 100, columns: 14 };
  const at = { row: 50, column: 3 };
  expect(cellAfterKey("ArrowDown", at, size, 10)).toEqual({ row: 51, column: 3 });
  expect(cellAfterKey("PageUp", at, size, 60)).toEqual({ row: 0, column: 3 });
  expect(cellAfterKey("PageDown", at, size, 60)).toEqual({ row: 99, column: 3 });
  expect(cellAfterKey("Home", at, size, 10)?.row).toBe(0);
  expect(cellAfterKey("End", at, size, 10)?.row).toBe(99);
  expect(cellAfterKey("ArrowRight", { row: 0, column: 13 }, size, 10)).toEqual({ row: 0, column: 13 });
  expect(cellAfterKey("ArrowLeft", at, size, 10)).toEqual({ row: 50, column: 2 });
  expect(cellAfterKey("x", at, size, 10)).toBeUndefined();
});
