// Reads comma- or tab-separated values. Pure.

import type { Table } from "../content/rows.js";

/** The most rows and columns that are shown. */
export const mostRows = 20_000;
const mostColumns = 200;

/** The separator that the first line uses most. */
function separatorOf(text: string, name: string): string {
  if (/\.tsv$/i.test(name)) return "\t";
  const line = text.slice(0, 4000).split(/\r?\n/, 1)[0]!;
  return [",", ";", "\t", "|"].reduce((best, s) => (line.split(s).length > line.split(best).length ? s : best), ",");
}

/** The table in a file; the first line has the headers. A quoted cell may have separators, quotes and line breaks. */
export function readCSV(text: string, name: string): Table & { readonly cut: boolean } {
  const separator = separatorOf(text, name);
  const rows: string[][] = [];
  let row: string[] = [];
  let at = text.startsWith("\ufeff") ? 1 : 0;
  while (at < text.length && rows.length <= mostRows) {
    let cell = "";
    if (text[at] === '"') {
      for (at++; at < text.length; at++) {
        if (text[at] !== '"') cell += text[at];
        else if (text[at + 1] === '"') {
          cell += '"';
          at++;
        } else break;
      }
      at++;
    }
    let end = at;
    while (end < text.length && text[end] !== separator && text[end] !== "\n" && text[end] !== "\r") end++;
    cell += text.slice(at, end);
    if (row.length < mostColumns) row.push(cell);
    at = end;
    if (text[at] === separator) {
      at++;
      if (at >= text.length || text[at] === "\n" || text[at] === "\r") row.push("");
      if (at < text.length && text[at] !== "\n" && text[at] !== "\r") continue;
    }
    if (text[at] === "\r" && text[at + 1] === "\n") at++;
    at++;
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  }
  const [headers = [], ...rest] = rows;
  return { headers, rows: rest, cut: at < text.length };
}
