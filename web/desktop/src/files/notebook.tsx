// A Jupyter notebook, to read. Its HTML outputs are not shown; their texts and pictures are.

import type { ReactNode } from "react";
import MarkdownView from "../content/markdown/view.js";
import { useTexts } from "../i18n/use.js";
import { files as texts } from "../texts/files.js";

interface Cell {
  readonly kind: "markdown" | "code" | "raw";
  readonly source: string;
  readonly outputs: readonly Output[];
}

interface Output {
  readonly text: string;
  /** A picture in base64, with its type. */
  readonly picture?: string;
}

const mostCells = 500;

const joined = (v: unknown): string => (Array.isArray(v) ? v.filter((s) => typeof s === "string").join("") : typeof v === "string" ? v : "");
const record = (v: unknown): Record<string, unknown> => (typeof v === "object" && v !== null ? (v as Record<string, unknown>) : {});

function outputOf(value: unknown): Output {
  const o = record(value);
  const data = record(o.data);
  const type = ["image/png", "image/jpeg", "image/gif", "image/webp"].find((t) => joined(data[t]) !== "");
  const picture = type === undefined ? undefined : `data:${type};base64,${joined(data[type]).replaceAll(/[^A-Za-z0-9+/=]/g, "")}`;
  const error = joined(o.ename) === "" ? "" : `${joined(o.ename)}: ${joined(o.evalue)}`;
  return { text: joined(o.text) || joined(data["text/plain"]) || error, ...(picture === undefined ? {} : { picture }) };
}

/** The cells of a notebook; undefined if the text is none. */
export function readNotebook(text: string): Cell[] | undefined {
  let cells: unknown;
  try {
    cells = record(JSON.parse(text)).cells;
  } catch {
    return undefined;
  }
  if (!Array.isArray(cells)) return undefined;
  return cells.slice(0, mostCells).map((c: unknown): Cell => {
    const cell = record(c);
    const kind = cell.cell_type === "markdown" ? "markdown" : cell.cell_type === "code" ? "code" : "raw";
    return { kind, source: joined(cell.source), outputs: Array.isArray(cell.outputs) ? cell.outputs.slice(0, 50).map(outputOf) : [] };
  });
}

export function Notebook({ text }: { text: string }): ReactNode {
  const t = useTexts(texts);
  const cells = readNotebook(text);
  if (cells === undefined) return <p className="files-note">{t.badNotebook}</p>;
  return (
    <div className="content-document">
      {cells.map((c, i) => (
        <section key={i} className="files-cell" aria-label={t.cell(i + 1)}>
          {c.kind === "markdown" ? <MarkdownView text={c.source} /> : <MarkdownView text={fenced(c.source)} />}
          {c.outputs.map((o, n) => (
            <div key={n} className="files-output" role="group" aria-label={t.output}>
              {o.picture !== undefined ? <img className="content-picture" src={o.picture} alt={t.output} /> : <pre tabIndex={0}>{o.text.slice(0, 20_000)}</pre>}
            </div>
          ))}
        </section>
      ))}
    </div>
  );
}

/** Code as a block that it cannot end by itself. */
function fenced(code: string): string {
  const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map((m) => m[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}python\n${code}\n${fence}`;
}
