// What a window shows, as text and as files that people take along.

import type { Component, Content, WindowState } from "../../../core/src/index.js";
import { tableOf } from "../content/chart/model.js";
import { toTsv } from "../content/rows.js";

export type ExportKind = "md" | "txt" | "csv" | "html" | "png" | "json";

interface Table {
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

function tableIn(content: Content): Table | undefined {
  if (content.renderer === "table") return content.data;
  if (content.renderer !== "chart") return undefined;
  const { series } = content.data;
  return tableOf(content.data, { x: "", series: (n) => series[n]?.name || String(n + 1) });
}

/** The text of a window for the clipboard: a table becomes one for spreadsheets, components become Markdown. */
export function textOf({ content }: Pick<WindowState, "content">): string {
  const table = tableIn(content);
  if (table !== undefined) return toTsv(table.headers, table.rows.map((row) => [...row]));
  if (content.renderer === "component") return content.data.components.map(markdownOf).filter((text) => text !== "").join("\n\n");
  if (content.renderer === "notebook") return content.data.cells.map((cell) => cell.source).join("\n\n");
  return typeof content.data === "string" ? content.data : JSON.stringify(content.data, null, 2);
}

/** What a component says, as Markdown. Buttons say nothing. */
function markdownOf(c: Component): string {
  const under = (label: string | undefined, lines: readonly string[]): string => [...(label ? [`**${label}**`, ""] : []), ...lines].join("\n");
  switch (c.type) {
    case "text":
      return c.content;
    case "badge":
      return c.label;
    case "progress":
      return `${c.label ? `${c.label}: ` : ""}${Math.round(c.value)} %`;
    case "input":
    case "select":
      return [c.label ?? c.name, c.defaultValue].filter((part) => part).join(": ");
    case "checklist":
      return under(c.label, c.items.map((item) => `- [${item.done ? "x" : " "}] ${item.text}`));
    case "kanban":
      return under(
        c.label,
        c.columns.map(({ title, cards }) => under(title, cards.map((card) => `- ${card.text}${card.note ? `: ${card.note}` : ""}`))).flatMap((column, at) => (at > 0 ? ["", column] : [column])),
      );
    default:
      return "";
  }
}

/** The kinds of files that a window can be exported as. Notebooks and pages have none here: they are saved from their own window. */
export function exportKinds({ content }: Pick<WindowState, "content">): ExportKind[] {
  switch (content.renderer) {
    case "markdown":
      return ["md", "html"];
    case "text":
      return ["txt"];
    case "table":
      return ["csv"];
    case "chart":
      return ["csv", "png"];
    case "html":
      return ["html"];
    case "component":
      return ["md"];
    case "notebook":
    case "iframe":
      return [];
    default:
      return ["json"];
  }
}

/** The table as comma-separated values with a mark that makes spreadsheets read it as UTF-8. */
export function toCsv({ headers, rows }: Table): string {
  const cell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return `\uFEFF${[headers, ...rows].map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

/** The name of an exported file: the title without what file systems forbid. */
export function fileName(title: string, kind: ExportKind): string {
  const bare = title.replaceAll(/[\\/:*?"<>|\p{Cc}\s]+/gu, " ").trim().slice(0, 80);
  return `${bare || "window"}.${kind}`;
}

const mediaTypes: Record<ExportKind, string> = { md: "text/markdown", txt: "text/plain", csv: "text/csv", html: "text/html", png: "image/png", json: "application/json" };

/** Saves a window as a file. `frame` is its element, which has the formatted text and the drawing of charts. */
export async function exportWindow(w: WindowState, kind: ExportKind, frame: HTMLElement): Promise<void> {
  save(fileName(w.title, kind), await fileOf(w, kind, frame));
}

async function fileOf(w: WindowState, kind: ExportKind, frame: HTMLElement): Promise<Blob> {
  if (kind === "png") return pictureOf(frame, w.title);
  const blob = (text: string): Blob => new Blob([text], { type: `${mediaTypes[kind]};charset=utf-8` });
  if (kind === "csv") return blob(toCsv(tableIn(w.content)!));
  if (kind === "html" && w.content.renderer === "markdown") return blob(page(w.title, frame.querySelector(".content-document")?.innerHTML ?? ""));
  return blob(textOf(w));
}

function page(title: string, body: string): string {
  const escaped = title.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<!doctype html><meta charset="utf-8"><title>${escaped}</title><style>body{max-width:46em;margin:2em auto;padding:0 1em;font:16px/1.6 system-ui,sans-serif}table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:4px 8px}button{display:none}</style>${body}`;
}

/** How much larger than on the screen a picture is. */
const pictureScale = 2;
const drawn = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "font-family", "font-size", "font-weight", "opacity"] as const;

/** The space above the drawing for the title and the legend, in px. */
const headHeight = 56;

/** The drawing of a chart with its title and legend as a picture, with the colours that it has now. */
async function pictureOf(frame: HTMLElement, title: string): Promise<Blob> {
  const svg = frame.querySelector<SVGSVGElement>("svg.chart-svg");
  if (svg === null) throw new Error("no drawing");
  const { width, height } = svg.getBoundingClientRect();
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const originals = [...svg.querySelectorAll<SVGElement>("*")];
  for (const [i, el] of [...copy.querySelectorAll<SVGElement>("*")].entries()) {
    const style = getComputedStyle(originals[i]!);
    for (const name of drawn) el.setAttribute(name, style.getPropertyValue(name));
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * pictureScale);
  canvas.height = Math.round((height + headHeight) * pictureScale);
  const context = canvas.getContext("2d")!;
  context.fillStyle = getComputedStyle(svg.closest<HTMLElement>(".chart")!).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(pictureScale, pictureScale);
  drawHead(context, frame, title);
  context.drawImage(picture, 0, headHeight, width, height);
  return new Promise((resolve, reject) => canvas.toBlob((b) => (b === null ? reject(new Error("no picture")) : resolve(b)), "image/png"));
}

function drawHead(context: CanvasRenderingContext2D, frame: HTMLElement, title: string): void {
  const { color, fontFamily } = getComputedStyle(frame);
  context.fillStyle = color;
  context.font = `600 15px ${fontFamily}`;
  context.fillText(title, 12, 24);
  context.font = `12px ${fontFamily}`;
  let x = 12;
  for (const item of frame.querySelectorAll<HTMLElement>(".chart-legend [aria-pressed=true]")) {
    context.fillStyle = getComputedStyle(item.querySelector(".chart-swatch")!).backgroundColor;
    context.fillRect(x, 38, 10, 10);
    const name = item.innerText.replaceAll(/\s+/g, " ").trim();
    context.fillStyle = color;
    context.fillText(name, x + 16, 47);
    x += context.measureText(name).width + 36;
  }
}

function save(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
