import { ArrowDown, ArrowUp, Eye, Pencil, Play, Trash2 } from "lucide-react";
import { lazy, memo, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import type { Cell, NotebookEditMessage, WindowState } from "../../../../core/src/index.js";
import { useTexts } from "../../i18n/use.js";
import { notebook as texts } from "../../texts/notebook.js";
import { IconButton } from "../../ui/button.js";
import MarkdownView from "../markdown/view.js";
import { Output } from "./output.js";

const Editor = lazy(() => import("../../files/editor.js"));

export type Change = Pick<NotebookEditMessage, "op" | "cellId"> & Partial<NotebookEditMessage>;

export interface CellActions {
  change: (c: Change) => void;
  run: (id: string) => void;
  /** Moves a cell by one place. */
  move: (id: string, by: number) => void;
}

/** How long the text rests before it is sent, in ms, and how long its echo may take. */
const restTime = 400;
const echoTime = 5_000;
const mostTries = 20;

/**
 * The source of a cell: what the user typed until it is in the notebook, else that of the notebook. Of two people who change
 * the same cell, the later one wins.
 */
function useSource(cell: Cell, change: CellActions["change"]): { text: string; setText: (s: string) => void; flush: () => void } {
  const [text, setShown] = useState(cell.source);
  const state = useRef<{ typed?: string; timer?: ReturnType<typeof setTimeout>; sent?: string; echo?: ReturnType<typeof setTimeout>; tries?: number }>({});
  const latest = useRef({ change, source: cell.source });
  latest.current = { change, source: cell.source };
  const flush = (): void => {
    const s = state.current;
    clearTimeout(s.timer);
    if (s.typed === undefined) return;
    latest.current.change({ op: "edit", cellId: cell.id, source: s.typed });
    s.sent = s.typed;
    delete s.typed;
    clearTimeout(s.echo);
    // The hub may have been lost before it had the text, which is kept and sent again. After a refusal no echo comes.
    s.echo = setTimeout(() => {
      if (s.typed === undefined && s.sent !== undefined) s.typed = s.sent;
      delete s.sent;
      s.tries = (s.tries ?? 0) + 1;
      if (s.tries <= mostTries) flushNow.current();
    }, echoTime);
  };
  const flushNow = useRef(flush);
  flushNow.current = flush;
  useEffect(() => {
    const s = state.current;
    if (s.sent === cell.source) {
      delete s.sent;
      delete s.tries;
      clearTimeout(s.echo);
    }
    if (s.sent === undefined && s.typed === undefined) setShown(cell.source);
  }, [cell.source]);
  useEffect(
    () => () => {
      flushNow.current();
      clearTimeout(state.current.echo);
    },
    [],
  );
  return {
    text,
    flush,
    setText(typed) {
      const s = state.current;
      setShown(typed);
      s.typed = typed;
      clearTimeout(s.timer);
      s.timer = setTimeout(() => flushNow.current(), restTime);
    },
  };
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
    source.flush();
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
              source.flush();
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
          <Editor className="notebook-editor" name={name} label={t.source(n)} text={source.text} onChange={source.setText} onSave={source.flush} onRun={run} />
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
