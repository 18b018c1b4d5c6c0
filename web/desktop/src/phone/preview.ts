// One line about a window, for a list that has no room for more.

import type { Content, WindowState } from "../../../core/src/index.js";

/** How long a preview is at most. */
const most = 120;

/** What a window shows, in one line; "" when that cannot be said in words. */
export function previewOf(w: Pick<WindowState, "content">): string {
  return oneLine(textOf(w.content));
}

function textOf(c: Content): string {
  const { data } = c;
  if (typeof data === "string") return c.renderer === "markdown" ? plain(data) : c.renderer === "text" ? data : "";
  if (typeof data !== "object" || data === null) return "";
  const d = data as unknown as Record<string, unknown>;
  if (c.renderer === "table" && Array.isArray(d.headers)) return d.headers.filter((h) => typeof h === "string").join(" · ");
  if (c.renderer === "component") return firstTexts(d).join(" · ");
  return "";
}

/** Markdown without its signs. */
export function plain(markdown: string): string {
  return markdown
    .replace(/```[\s\S]*?(?:```|$)/g, " ")
    .replace(/!\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/^[ \t]*(?:#{1,6}|>|[-*+]|\d+\.)[ \t]+(?:\[[ xX]\] )?/gm, "")
    .replace(/[*_`~|]+/g, "");
}

/** The first texts and labels of a layout, in the order in which they stand. */
function firstTexts(value: unknown, found: string[] = []): string[] {
  if (found.length >= 3 || typeof value !== "object" || value === null) return found;
  for (const [key, v] of Object.entries(value)) {
    if (found.length >= 3) break;
    if (typeof v === "string" && (key === "content" || key === "label" || key === "text")) found.push(v);
    else firstTexts(v, found);
  }
  return found;
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1).trimEnd()}…` : line;
}
