// Tables: the order of rows, and how much of a long one is drawn. Pure.

import type { TableContent } from "../../../core/src/index.js";

export type Table = TableContent["data"];

export interface Sort {
  readonly column: number;
  readonly down: boolean;
}

/** The order after a click on a header: ascending, then descending, then the original order. */
export function nextSort(now: Sort | undefined, column: number): Sort | undefined {
  if (now?.column !== column) return { column, down: false };
  return now.down ? undefined : { column, down: true };
}

/** The number in a cell; undefined if it is not a number. */
export function parseCell(cell: string): number | undefined {
  const bare = cell.trim().replace(/^[-+]?\s*[$€£₩¥]\s?/, (sign) => (sign.startsWith("-") ? "-" : "")).replace(/\s?[%원]$/, "");
  if (!/^[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+]?\d+)?$/i.test(bare) || !/\d/.test(bare)) return undefined;
  return Number(bare.replaceAll(",", "").replace("−", "-"));
}

/** Whether a column has only numbers, and at least one. */
export function isNumeric(rows: Table["rows"], column: number): boolean {
  let some = false;
  for (const row of rows) {
    const cell = row[column] ?? "";
    if (cell.trim() === "") continue;
    if (parseCell(cell) === undefined) return false;
    some = true;
  }
  return some;
}

/** The sorted rows. Empty cells are last in both directions; equal cells keep their order. */
export function sortRows(rows: Table["rows"], sort: Sort | undefined, collator: Intl.Collator): Table["rows"] {
  if (sort === undefined) return rows;
  const { column, down } = sort;
  const numeric = isNumeric(rows, column);
  const keys = new Map(rows.map((row) => [row, row[column]?.trim() ?? ""]));
  return [...rows].sort((a, b) => {
    const x = keys.get(a)!;
    const y = keys.get(b)!;
    if (x === "" || y === "") return Number(x === "") - Number(y === "");
    const order = numeric ? parseCell(x)! - parseCell(y)! : collator.compare(x, y);
    return down ? -order : order;
  });
}

/** The rows that have a text in any of their cells. */
export function filterRows(rows: Table["rows"], text: string): Table["rows"] {
  const wanted = text.trim().toLocaleLowerCase();
  return wanted === "" ? rows : rows.filter((row) => row.some((cell) => cell.toLocaleLowerCase().includes(wanted)));
}

/** Columns of numbers that are names: they are written without separators. */
const isName = /\b(?:ids?|nos?|codes?|year|zip|phone|port)\b|번호|연도|코드|우편|전화/i;
const large = 10_000;

/**
 * Whether the numbers of a column are written with separators of thousands: plain numbers, of which some are large. Agents write most
 * numbers without them.
 */
export function isGrouped(rows: Table["rows"], column: number, header: string): boolean {
  if (isName.test(header)) return false;
  let some = false;
  for (const row of rows) {
    const cell = (row[column] ?? "").trim();
    if (cell === "") continue;
    if (!/^-?\d{1,15}(?:\.\d+)?$/.test(cell) || /^-?0\d/.test(cell)) return false;
    some ||= Math.abs(Number(cell)) >= large;
  }
  return some;
}

/** A plain number with separators; its fraction stays as it was written. */
export function grouped(cell: string, format: Intl.NumberFormat): string {
  const [whole = "", fraction] = cell.trim().split(".");
  if (whole === "") return cell;
  const sign = whole.startsWith("-") ? "-" : "";
  return sign + format.format(BigInt(whole.replace("-", ""))) + (fraction === undefined ? "" : `.${fraction}`);
}

/** The rows of a long table to render: the visible ones, and some more on both sides. */
export function visibleRows(count: number, rowHeight: number, scroll: number, height: number, spare = 20): { from: number; to: number } {
  const from = Math.max(0, Math.min(Math.floor(scroll / rowHeight) - spare, count));
  return { from, to: Math.min(count, Math.ceil((scroll + height) / rowHeight) + spare) };
}

/** The width of each column in characters, estimated from a sample of the rows. */
export function columnWidths(table: Table, look = 200): number[] {
  const step = Math.max(1, Math.floor(table.rows.length / look));
  return columnIndexes(table).map((c) => {
    let most = (table.headers[c] ?? "").length + 2;
    for (let r = 0; r < table.rows.length; r += step) most = Math.max(most, (table.rows[r]![c] ?? "").length);
    return Math.max(6, Math.min(most, 40));
  });
}

/** The indexes of the columns: rows may have more cells than there are headers. */
export function columnIndexes(table: Table): number[] {
  const count = table.rows.reduce((most, row) => Math.max(most, row.length), table.headers.length);
  return Array.from({ length: count }, (_, i) => i);
}

/** The table as tab-separated values, for spreadsheets. */
export function toTsv(headers: readonly string[], rows: Table["rows"]): string {
  const cell = (text: string): string => text.replaceAll(/[\t\r\n]+/g, " ");
  return [headers, ...rows].map((row) => row.map(cell).join("\t")).join("\n");
}
