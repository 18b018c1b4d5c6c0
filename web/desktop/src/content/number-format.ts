// How the numbers of a column are written, as its format says. Pure.

import type { ColumnFormat } from "../../../core/src/index.js";
import { grouped } from "./rows.js";

/** Writes the cells of a column; undefined if they stay as they are. */
export type CellFormat = (cell: string) => string;

const plain = /^[-+]?\d{1,15}(?:\.\d+)?$/;

/** The format of a column in a language. */
export function cellFormat(f: ColumnFormat, locale: string): CellFormat | undefined {
  switch (f.kind) {
    case "number":
      return f.decimals === undefined ? whole(new Intl.NumberFormat(locale)) : numbers(new Intl.NumberFormat(locale, digits(f.decimals)));
    case "percent":
      return numbers(new Intl.NumberFormat(locale, { style: "percent", ...(f.decimals === undefined ? { maximumFractionDigits: 10 } : digits(f.decimals)) }));
    case "currency":
      return amounts(f, locale);
    default:
      return undefined;
  }
}

/** Whether a column is right-aligned because its format says so. */
export function isNumberKind(f: ColumnFormat | undefined): boolean {
  return f?.kind === "number" || f?.kind === "percent" || f?.kind === "currency";
}

function digits(n: number): Intl.NumberFormatOptions {
  const count = Math.max(0, Math.min(10, Math.trunc(n)));
  return { minimumFractionDigits: count, maximumFractionDigits: count };
}

function amounts(f: ColumnFormat, locale: string): CellFormat | undefined {
  // A code that is none would throw; the agent may have written anything.
  if (!/^[a-z]{3}$/i.test(f.currency ?? "")) return whole(new Intl.NumberFormat(locale));
  return numbers(new Intl.NumberFormat(locale, { style: "currency", currency: f.currency!, currencyDisplay: "narrowSymbol", ...(f.decimals === undefined ? {} : digits(f.decimals)) }));
}

function whole(format: Intl.NumberFormat): CellFormat {
  return (cell) => (plain.test(cell.trim()) ? grouped(cell, format) : cell);
}

function numbers(format: Intl.NumberFormat): CellFormat {
  return (cell) => (plain.test(cell.trim()) ? format.format(Number(cell)) : cell);
}
