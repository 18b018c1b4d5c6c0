import { ArrowDown, ArrowUp } from "lucide-react";
import { type KeyboardEvent, memo, type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import type { Row } from "../api/types.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useActions, useHubTime, usePage } from "../state/use.js";
import { table as texts } from "../texts.js";
import { columns } from "./columns.js";
import type { View } from "./filter.js";
import { useVisibleRange } from "./use-visible-range.js";
import { cellAfterKey, rowHeight, scrollToRow } from "./visible-range.js";

interface GridProps {
  rows: readonly Row[];
  view: View;
  onSort: (change: Pick<View, "sort" | "descending">) => void;
}

/** More rows than a usual screen shows, so that the number of elements stays the same while scrolling. */
const minSlots = 64;

/** The table. Only the visible ones of thousands of rows are in the document. */
export function Grid({ rows, view, onSort }: GridProps): ReactNode {
  const t = useTexts(texts);
  const { go } = useActions();
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const span = useVisibleRange(box, rows.length);
  const now = useHubTime();
  const [at, setAt] = useState({ row: 0, column: 0 });
  const row = Math.min(at.row, Math.max(0, rows.length - 1));
  const rendered = rows.slice(span.from, span.to);
  // Rows that scroll into view reuse the elements of those that scroll out.
  const slots = Math.max(minSlots, rendered.length);
  const seen = row >= span.from && row < span.to;
  const press = (e: KeyboardEvent): void => {
    // The buttons of the header handle their own keys.
    if (e.target !== e.currentTarget) return;
    const view = box.current!;
    const chosen = rows[row];
    if (e.key === "Enter" && chosen !== undefined) {
      e.preventDefault();
      return go({ page: "session", session: chosen.sessionId });
    }
    const height = view.clientHeight - rowHeight; // the header takes one row
    const to = cellAfterKey(e.key, { row, column: at.column }, { rows: rows.length, columns: columns.length }, Math.max(1, Math.floor(height / rowHeight) - 1));
    if (to === undefined || rows.length === 0) return;
    e.preventDefault();
    view.scrollTop = scrollToRow(to.row, view.scrollTop, height);
    setAt(to);
  };
  useEffect(() => {
    const cell = document.getElementById(`${id}-c${at.column}`);
    const view = box.current!;
    if (cell !== null && document.activeElement === view) view.scrollLeft = scrollToRow(0, view.scrollLeft - cell.offsetLeft, view.clientWidth, cell.offsetWidth) + cell.offsetLeft;
  }, [id, at]);
  return (
    <div
      ref={box}
      className="grid"
      role="grid"
      tabIndex={0}
      aria-label={t.sessions}
      aria-describedby={`${id}-help`}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={seen && rows.length > 0 ? `${id}-${row}-${at.column}` : undefined}
      onKeyDown={press}
    >
      <span id={`${id}-help`} hidden>
        {t.open}
      </span>
      <div role="rowgroup" className="grid-head">
        <div role="row" aria-rowindex={1} className="grid-row">
          {columns.map((c, n) => {
            const sorted = view.sort === c.sort;
            const Arrow = view.descending ? ArrowDown : ArrowUp;
            return (
              <div key={c.sort} id={`${id}-c${n}`} role="columnheader" aria-colindex={n + 1} aria-sort={sorted ? (view.descending ? "descending" : "ascending") : "none"} className={`col-${c.sort}${c.number === true ? " number" : ""}`}>
                <button type="button" data-sort={c.sort} onClick={() => onSort({ sort: c.sort, descending: sorted ? !view.descending : c.number === true })}>
                  {t[c.sort]}
                  {sorted && <Arrow size={12} aria-hidden />}
                </button>
              </div>
            );
          })}
        </div>
      </div>
      <div role="rowgroup" className="grid-body" ref={(e) => void (e !== null && (e.style.height = `${rows.length * rowHeight}px`))}>
        {rendered.map((r, n) => (
          <Line key={(span.from + n) % slots} id={id} row={r} index={span.from + n} active={span.from + n === row ? at.column : -1} age={Math.floor((now - r.updatedAt) / 1000)} />
        ))}
      </div>
    </div>
  );
}

interface LineProps {
  id: string;
  row: Row;
  index: number;
  /** The active column in this row; -1 in all others. */
  active: number;
  /** In seconds, so that the row renders at most once per second. */
  age: number;
}

const Line = memo(function Line({ id, row, index, active, age }: LineProps): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  const { go } = useActions();
  const hidden = usePage((s) => s.me?.content !== true);
  const context = { f, age: f.age(age * 1000), hidden: hidden ? t.hidden : undefined, lastError: t.lastError };
  const line = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    line.current!.style.transform = `translateY(${index * rowHeight}px)`;
  }, [index]);
  return (
    <div
      ref={line}
      role="row"
      aria-rowindex={index + 2}
      className={`grid-row grid-line${active >= 0 ? " grid-active" : ""}`}
      data-session={row.sessionId}
      data-status={row.status}
      onClick={(e) => {
        // The link in the row works by itself, and selecting text does not open the session.
        if ((e.target as Element).closest("a") === null && getSelection()?.isCollapsed !== false) go({ page: "session", session: row.sessionId });
      }}
    >
      {columns.map((c, n) => (
        <div key={c.sort} id={`${id}-${index}-${n}`} role="gridcell" aria-colindex={n + 1} className={`col-${c.sort}${c.number === true ? " number" : ""}${active === n ? " grid-cell-active" : ""}`}>
          {c.cell(row, context)}
        </div>
      ))}
    </div>
  );
});
