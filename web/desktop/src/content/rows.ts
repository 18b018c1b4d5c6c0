// Tables: the order of rows, and how much of a long one is drawn. Pure.

import type { TableContent } from "../../../core/src/index.js";

export type Table = TableContent["data"];

export interface Sort {
  readonly column: number;
  readonly down: boolean;
}

/** What a click on a header makes of the order: up, then down, then as the rows came. */
export function nextSort(now: Sort | undefined, column: number): Sort | undefined {
  if (now?.column !== column) return { column, down: false };
  return now.down ? undefined : { column, down: true };
}

/** The number that a cell shows, or undefined when it shows something else. */
export function numberIn(cell: string): number | undefined {
  const bare = cell.trim().replace(/^[-+]?\s*[$€£₩¥]\s?/, (sign) => (sign.startsWith("-") ? "-" : "")).replace(/\s?[%원]$/, "");
  if (!/^[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+]?\d+)?$/i.test(bare) || !/\d/.test(bare)) return undefined;
  return Number(bare.replaceAll(",", "").replace("−", "-"));
}

/** Whether a column has numbers only, and at least one. */
export function isNumeric(rows: Table["rows"], column: number): boolean {
  let some = false;
  for (const row of rows) {
    const cell = row[column] ?? "";
    if (cell.trim() === "") continue;
    if (numberIn(cell) === undefined) return false;
    some = true;
  }
  return some;
}

/** The rows in an order. Empty cells are last in both directions, and equal ones stay as they came. */
export function sorted(rows: Table["rows"], sort: Sort | undefined, collator: Intl.Collator): Table["rows"] {
  if (sort === undefined) return rows;
  const { column, down } = sort;
  const numeric = isNumeric(rows, column);
  const keys = new Map(rows.map((row) => [row, row[column]?.trim() ?? ""]));
  return [...rows].sort((a, b) => {
    const x = keys.get(a)!;
    const y = keys.get(b)!;
    if (x === "" || y === "") return Number(x === "") - Number(y === "");
    const order = numeric ? numberIn(x)! - numberIn(y)! : collator.compare(x, y);
    return down ? -order : order;
  });
}

/** The rows to draw of a long table: what is seen, and some more on both sides. */
export function visible(count: number, rowHeight: number, scroll: number, height: number, spare = 20): { from: number; to: number } {
  const from = Math.max(0, Math.min(Math.floor(scroll / rowHeight) - spare, count));
  return { from, to: Math.min(count, Math.ceil((scroll + height) / rowHeight) + spare) };
}

/** How wide each column should be, in characters, by a look at some rows. */
export function widths(table: Table, look = 200): number[] {
  const step = Math.max(1, Math.floor(table.rows.length / look));
  return columnsOf(table).map((c) => {
    let most = (table.headers[c] ?? "").length + 2;
    for (let r = 0; r < table.rows.length; r += step) most = Math.max(most, (table.rows[r]![c] ?? "").length);
    return Math.max(6, Math.min(most, 40));
  });
}

/** The numbers of the columns: rows may have more cells than there are headers. */
export function columnsOf(table: Table): number[] {
  const count = table.rows.reduce((most, row) => Math.max(most, row.length), table.headers.length);
  return Array.from({ length: count }, (_, i) => i);
}

/** A table as spreadsheets take it. */
export function toTsv(headers: readonly string[], rows: Table["rows"]): string {
  const cell = (text: string): string => text.replaceAll(/[\t\r\n]+/g, " ");
  return [headers, ...rows].map((row) => row.map(cell).join("\t")).join("\n");
}
