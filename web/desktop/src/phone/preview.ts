// One-line previews of windows.

import type { Content, WindowState } from "../../../core/src/index.js";

/** The maximum length of a preview. */
const maxLength = 120;
/** The length up to which a text is examined. */
const maxExamined = 16 << 10;

/** The content of a window in one line; empty if it is not text. */
export function previewOf(w: Pick<WindowState, "content">): string {
  return oneLine(textOf(w.content));
}

function textOf(c: Content): string {
  const data = typeof c.data === "string" ? c.data.slice(0, maxExamined) : c.data;
  if (typeof data === "string") return c.renderer === "markdown" ? stripMarkdown(data) : c.renderer === "text" ? data : "";
  if (typeof data !== "object" || data === null) return "";
  const d = data as unknown as Record<string, unknown>;
  if (c.renderer === "table" && Array.isArray(d.headers)) return d.headers.filter((h) => typeof h === "string").join(" · ");
  if (c.renderer === "component") return firstTexts(d).join(" · ");
  return "";
}

/** Markdown without its markup. */
export function stripMarkdown(markdown: string): string {
  return markdown
    .replace(/```[\s\S]*?(?:```|$)/g, " ")
    .replace(/!\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/^[ \t]*(?:#{1,6}|>|[-*+]|\d+\.)[ \t]+(?:\[[ xX]\] )?/gm, "")
    .replace(/[*_`~|]+/g, "");
}

/** The first texts and labels of a layout, in order. */
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
  return line.length > maxLength ? `${line.slice(0, maxLength - 1).trimEnd()}…` : line;
}
