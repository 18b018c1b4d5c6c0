import { ArrowDown, ArrowUp, Eye, Pencil, Play, Trash2 } from "lucide-react";
import { lazy, memo, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import type { Cell, NotebookEditMessage, WindowState } from "../../../../core/src/index.js";
import { useTexts } from "../../i18n/use.js";
import { notebook as texts } from "../../texts/notebook.js";
import { IconButton } from "../../ui/button.js";
import MarkdownView from "../markdown/view.js";
import { CellDraft } from "./draft.js";
import { Output } from "./output.js";

const Editor = lazy(() => import("../../files/editor.js"));

export type Change = Pick<NotebookEditMessage, "op" | "cellId"> & Partial<NotebookEditMessage>;

export interface CellActions {
  change: (c: Change) => void;
  run: (id: string) => void;
  /** Moves a cell by one place. */
  move: (id: string, by: number) => void;
}

/** The source of a cell as this tab shows it. */
function useSource(cell: Cell, change: CellActions["change"]): { text: string; draft: CellDraft } {
  const [text, setText] = useState(cell.source);
  const latest = useRef(change);
  latest.current = change;
  const [draft] = useState(() => new CellDraft((source) => latest.current({ op: "edit", cellId: cell.id, source }), setText));
  useEffect(() => draft.sourceChanged(cell.source), [draft, cell.source]);
  useEffect(() => () => draft.close(), [draft]);
  return { text, draft };
}

interface CellProps {
  window: WindowState;
  cell: Cell;
  n: number;
  language: string;
  actions: CellActions;
}

function bytes(n: number): string {
  return n < 1 << 20 ? `${String(Math.ceil(n / 1024))} kB` : `${String(Math.ceil(n / (1 << 20)))} MB`;
}

/** A cell: its source, its outputs and how far it is. */
export const CellView = memo(function CellView({ window: w, cell: c, n, language, actions }: CellProps): ReactNode {
  const t = useTexts(texts);
  const source = useSource(c, actions.change);
  const [editing, setEditing] = useState(c.kind !== "markdown" || c.source === "");
  const run = (): void => {
    source.draft.flush();
    if (c.kind === "code") actions.run(c.id);
    else setEditing(false);
  };
  const name = c.kind === "markdown" ? "cell.md" : language === "python" || language === "" ? "cell.py" : "cell.txt";
  return (
    <section className="notebook-cell" data-cell={c.id} data-state={c.state ?? ""} aria-label={t.cell(n)}>
      <div className="notebook-cell-head" role="toolbar" aria-label={t.cellTools(n)}>
        <span className="notebook-count">[{c.kind === "code" ? (c.count ?? " ") : "¶"}]</span>
        {c.state !== undefined && (
          <span className="notebook-state" title={c.reason} role="status">
            {t[c.state]}
          </span>
        )}
        <span className="notebook-gap" />
        {c.kind === "code" && <IconButton icon={Play} label={t.run} onClick={run} />}
        {c.kind === "markdown" && (
          <IconButton
            icon={editing ? Eye : Pencil}
            label={editing ? t.show : t.edit}
            onClick={() => {
              source.draft.flush();
              setEditing(!editing);
            }}
          />
        )}
        <IconButton icon={ArrowUp} label={t.up} onClick={() => actions.move(c.id, -1)} />
        <IconButton icon={ArrowDown} label={t.down} onClick={() => actions.move(c.id, 1)} />
        <IconButton icon={Trash2} label={t.remove} onClick={() => actions.change({ op: "delete", cellId: c.id })} />
      </div>
      {editing ? (
        <Suspense fallback={<pre className="notebook-text">{source.text}</pre>}>
          <Editor className="notebook-editor" name={name} label={t.source(n)} text={source.text} onChange={(typed) => source.draft.type(typed)} onSave={() => source.draft.flush()} onRun={run} />
        </Suspense>
      ) : (
        <MarkdownView text={source.text || `*${t.emptyText}*`} />
      )}
      {(c.outputs ?? []).length > 0 && (
        <div className="notebook-outputs" role="group" aria-label={t.outputs(n)} data-outputs={c.id}>
          {c.outputs!.map((o, i) => (
            <Output key={i} output={o} window={w} n={n} />
          ))}
        </div>
      )}
      {(c.cut ?? 0) > 0 && <p className="notebook-note">{t.cut(bytes(c.cut!))}</p>}
      {c.reason !== undefined && c.reason !== "" && <p className="notebook-note">{c.reason}</p>}
    </section>
  );
});
