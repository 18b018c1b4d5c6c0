import { expect, test } from "vitest";
import { columnIndexes, columnWidths, filterRows, grouped, isGrouped, isNumeric, nextSort, parseCell, sortRows, toTsv, visibleRows } from "../../src/content/rows.js";

const collator = new Intl.Collator("en", { numeric: true });
const column = (rows: string[][], c: number, down = false): string[] => sortRows(rows, { column: c, down }, collator).map((r) => r[c] ?? "");

test("a header toggles ascending, descending and the original order", () => {
  const up = nextSort(undefined, 1);
  expect(up).toEqual({ column: 1, down: false });
  const down = nextSort(up, 1);
  expect(down).toEqual({ column: 1, down: true });
  expect(nextSort(down, 1)).toBeUndefined();
  expect(nextSort(down, 0)).toEqual({ column: 0, down: false });
});

test.each([
  ["1", 1],
  ["-1.5", -1.5],
  ["−2", -2],
  ["1,234,567.8", 1234567.8],
  ["$1,000", 1000],
  ["-₩500", -500],
  ["12 %", 12],
  ["1e3", 1000],
])("%s is a number", (cell, n) => {
  expect(parseCell(cell)).toBe(n);
});

test.each(["", "a", "1a", "1,23", "-", "%", "2026-11-15", "1.2.3", "v2"])("%s is no number", (cell) => {
  expect(parseCell(cell)).toBeUndefined();
});

test("numbers are sorted as numbers, also inside text, and empty cells are last", () => {
  const rows = [["file10", "9"], ["file2", "1,000"], ["", "-5"], ["file1", ""]];
  expect(isNumeric(rows, 1)).toBe(true);
  expect(isNumeric(rows, 0)).toBe(false);
  expect(column(rows, 1)).toEqual(["-5", "9", "1,000", ""]);
  expect(column(rows, 1, true)).toEqual(["1,000", "9", "-5", ""]);
  expect(column(rows, 0)).toEqual(["file1", "file2", "file10", ""]);
  expect(column(rows, 0, true)).toEqual(["file10", "file2", "file1", ""]);
  expect(sortRows(rows, undefined, collator)).toBe(rows);
});

test("equal rows keep their order", () => {
  const rows = [["b", "1"], ["a", "1"], ["c", "0"]];
  expect(sortRows(rows, { column: 1, down: false }, collator).map((r) => r[0])).toEqual(["c", "b", "a"]);
});

test("visible rows are rendered", () => {
  expect(visibleRows(10_000, 28, 0, 280)).toEqual({ from: 0, to: 30 });
  expect(visibleRows(10_000, 28, 28_000, 280)).toEqual({ from: 980, to: 1030 });
  expect(visibleRows(100, 28, 1e9, 280)).toEqual({ from: 100, to: 100 });
});

test("rows may be longer than the headers", () => {
  const table = { headers: ["a"], rows: [["1", "two", "3"], ["x".repeat(99)]] };
  expect(columnIndexes(table)).toEqual([0, 1, 2]);
  expect(columnWidths(table)).toEqual([40, 6, 6]);
});

test("tab-separated values have one line per row", () => {
  expect(toTsv(["a", "b"], [["1\t2", "x\ny"]])).toBe("a\tb\n1 2\tx y");
});

test("rows are filtered by a text in any cell", () => {
  const rows = [["Apple", "red"], ["Banana", "yellow"], ["Cherry", "Red"]];
  expect(filterRows(rows, " RED ")).toEqual([rows[0], rows[2]]);
  expect(filterRows(rows, " ")).toBe(rows);
});

test("large plain numbers have separators, but not names such as years and codes", () => {
  const format = new Intl.NumberFormat("en-GB");
  expect(isGrouped([["48200"], ["900"], [""]], 0, "Value (€)")).toBe(true);
  expect(isGrouped([["2026"], ["1999"]], 0, "When")).toBe(false);
  expect(isGrouped([["123456"]], 0, "Order no")).toBe(false);
  expect(isGrouped([["012345"]], 0, "x")).toBe(false);
  expect(isGrouped([["48200 €"]], 0, "x")).toBe(false);
  expect(["48200", "-1234567.50", "900", ""].map((c) => grouped(c, format))).toEqual(["48,200", "-1,234,567.50", "900", ""]);
});
