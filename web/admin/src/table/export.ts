// Exports the table as a file.

import type { Row } from "../api/types.js";

const columns: readonly (keyof Row)[] = [
  "sessionId", "user", "title", "status", "doing", "doingMs", "owner", "epoch", "top", "tabs", "monitors", "windows", "agents",
  "queued", "questions", "budget", "errors", "lastError", "tokens", "cost", "createdAt", "updatedAt", "reason",
];

/**
 * A cell by RFC 4180. A value that a spreadsheet would read as a formula gets an apostrophe before it, since any user
 * can write titles.
 */
function cell(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(String(value)) ? `'${String(value)}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvOf(rows: readonly Row[]): string {
  const timed = (row: Row, c: keyof Row): unknown => (c === "createdAt" || c === "updatedAt" ? new Date(row[c]).toISOString() : row[c]);
  const lines = [columns.join(","), ...rows.map((row) => columns.map((c) => cell(timed(row, c))).join(","))];
  return `${lines.join("\r\n")}\r\n`;
}

export function jsonOf(rows: readonly Row[]): string {
  return `${JSON.stringify(rows, null, 2)}\n`;
}

/** Saves a text as a file. */
export function download(name: string, media: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: media }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // Some browsers read it only after a while.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
