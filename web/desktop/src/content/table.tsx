import { ArrowDown, ArrowUp, Plus, X } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useFormat, useTexts } from "../i18n/use.js";
import { useShell } from "../shell/context.js";
import { content as texts } from "../texts/content.js";
import { edits as editTexts } from "../texts/edits.js";
import { IconButton } from "../ui/button.js";
import { CopyButton } from "../ui/copy.js";
import { type Edit, rowText } from "./board/apply.js";
import { TextField } from "./board/text-field.js";
import { type CellFormat, cellFormat, isNumberKind } from "./number-format.js";
import { columnIndexes, columnWidths, filterRows, grouped, isGrouped, isNumeric, nextSort, type Sort, sortRows, type Table, toTsv, visibleRows } from "./rows.js";

/** The number of rows above which only the visible ones are rendered, all with this height. */
const manyRows = 200;
const rowHeight = 28;
/** The number of rows from which a table can be filtered. */
const leastFiltered = 8;

interface Cell {
  readonly row: Table["rows"][number];
  /** The place of the row in the table. */
  readonly item: number;
  readonly column: number;
}

interface TableProps {
  table: Table;
  label: string;
  /** Sends an edit; without it the table can only be read. */
  edit?: (e: Edit) => void;
}

/** A table that users sort and filter, and in windows edit. */
export function TableView({ table, label, edit }: TableProps): ReactNode {
  const t = useTexts(texts);
  const e = useTexts(editTexts);
  const format = useFormat();
  const language = useShell((s) => s.language);
  const [sort, setSort] = useState<Sort>();
  const [filter, setFilter] = useState("");
  const [editing, setEditing] = useState<Cell>();
  const columns = useMemo(() => columnIndexes(table), [table]);
  const { numeric, written } = useMemo(() => looks(table, columns, language === "ko" ? "ko-KR" : "en-GB"), [table, columns, language]);
  const found = useMemo(() => filterRows(table.rows, filter), [table, filter]);
  const rows = useMemo(() => sortRows(found, sort, new Intl.Collator(language, { numeric: true })), [found, sort, language]);
  // A row is edited at its place in the table, wherever the order and the filter show it.
  const places = useMemo(() => new Map(table.rows.map((row, i) => [row, i])), [table]);
  // The table may change while a cell is edited: its rows are others then, and the edited one is known by its text.
  const edited = useMemo(() => editing && sameRow(table, editing), [table, editing]);
  const many = rows.length > manyRows;
  const { ref, onScroll, from, to } = useVisible(rows.length, many);
  const name = (c: number): string => table.headers[c]?.trim() || t.column(c + 1);
  const focus = useRef<{ row: number; column: number }>(undefined);
  useLayoutEffect(() => {
    const at = focus.current;
    if (at === undefined || editing !== undefined) return;
    focus.current = undefined;
    ref.current?.querySelector<HTMLElement>(`[data-place="${at.row} ${at.column}"]`)?.focus();
  });

  const addRow = (): void => {
    edit?.({ op: "add", item: table.rows.length, text: "" });
    setSort(undefined);
    setFilter("");
    focus.current = { row: table.rows.length, column: 0 };
    requestAnimationFrame(() => ref.current?.scrollTo({ top: ref.current.scrollHeight }));
  };
  const removeRow = (row: Cell["row"]): void => edit?.({ op: "remove", item: places.get(row)!, was: rowText(row) });
  const press = (k: KeyboardEvent<HTMLElement>, cell: Cell): void => {
    if (edit === undefined || k.target !== k.currentTarget || k.altKey || k.ctrlKey || k.metaKey) return;
    const here = k.currentTarget;
    const line = here.parentElement!;
    const side = (by: Element | null | undefined): void => (by?.children[here instanceof HTMLTableCellElement ? here.cellIndex : 0] as HTMLElement | undefined)?.focus();
    switch (k.key) {
      case "Enter":
      case "F2":
        setEditing(cell);
        break;
      case "ArrowUp":
        side(line.previousElementSibling);
        break;
      case "ArrowDown":
        side(line.nextElementSibling);
        break;
      case "ArrowLeft":
        (here.previousElementSibling as HTMLElement | null)?.focus();
        break;
      case "ArrowRight":
        (here.nextElementSibling as HTMLElement | null)?.focus();
        break;
      case "Delete":
        if (!k.shiftKey) return;
        removeRow(cell.row);
        break;
      default:
        return;
    }
    k.preventDefault();
    k.stopPropagation();
  };
  const done = (row: Cell["row"], cell: Cell, text: string | undefined): void => {
    const item = places.get(row);
    setEditing(undefined);
    if (item === undefined) return;
    focus.current = { row: item, column: cell.column };
    if (text !== undefined) edit?.({ op: "cell", item, column: cell.column, was: cell.row[cell.column] ?? "", text });
  };

  return (
    <div className="content-table-box">
      <div ref={ref} onScroll={onScroll} className="content-scroll" tabIndex={0} role="group" aria-label={label}>
        <table className={many ? "content-table content-table-many" : "content-table"} aria-rowcount={rows.length + 1}>
          {many && <Columns table={table} end={edit !== undefined} />}
          <thead>
            <tr>
              {columns.map((c) => (
                <th key={c} scope="col" aria-sort={sort?.column !== c ? "none" : sort.down ? "descending" : "ascending"} data-numeric={numeric[c]}>
                  <button type="button" className="content-sort" title={t.sortBy(name(c))} onClick={() => setSort(nextSort(sort, c))}>
                    <span className="content-sort-name">{name(c)}</span>
                    {sort?.column === c && (sort.down ? <ArrowDown size={12} aria-hidden /> : <ArrowUp size={12} aria-hidden />)}
                  </button>
                </th>
              ))}
              {edit && <td className="content-row-end" />}
            </tr>
          </thead>
          <tbody>
            <Gap rows={from} />
            {rows.slice(from, to).map((row, i) => (
              <tr key={from + i} aria-rowindex={from + i + 2}>
                {columns.map((c) =>
                  editing !== undefined && edited === row && editing.column === c ? (
                    <td key={c} className="content-cell-edited">
                      <TextField label={e.editCell(name(c), format.number(places.get(row)! + 1))} text={row[c] ?? ""} onDone={(text) => done(row, editing, text)} />
                    </td>
                  ) : (
                    <td
                      key={c}
                      tabIndex={edit === undefined ? undefined : c === 0 ? 0 : -1}
                      data-place={`${places.get(row)} ${c}`}
                      data-numeric={numeric[c]}
                      title={many ? row[c] : undefined}
                      onDoubleClick={edit && (() => setEditing({ row, item: places.get(row)!, column: c }))}
                      onKeyDown={(k) => press(k, { row, item: places.get(row)!, column: c })}
                    >
                      {written[c]?.(row[c] ?? "") ?? row[c]}
                    </td>
                  ),
                )}
                {edit && (
                  <td className="content-row-end">
                    <IconButton icon={X} size={13} tabIndex={-1} label={e.removeRowOf(format.number(places.get(row)! + 1))} onClick={() => removeRow(row)} />
                  </td>
                )}
              </tr>
            ))}
            <Gap rows={rows.length - to} />
          </tbody>
        </table>
        {rows.length === 0 && <p className="content-empty">{filter.trim() === "" ? t.emptyTable : t.noRowFits}</p>}
      </div>
      <footer className="content-table-foot">
        <span aria-live="polite" title={edit && e.cellKeys}>
          {found === table.rows ? t.rows(format.number(rows.length)) : t.someRows(format.number(rows.length), format.number(table.rows.length))}
        </span>
        {table.rows.length >= leastFiltered && <input type="search" className="content-filter" value={filter} placeholder={t.filter} aria-label={t.filter} onChange={(x) => setFilter(x.target.value)} />}
        {edit && table.headers.length > 0 && <IconButton icon={Plus} size={14} label={e.addRow} onClick={addRow} />}
        <CopyButton label={t.copyTable} text={() => toTsv(columns.map((c) => table.headers[c] ?? ""), rows)} />
      </footer>
    </div>
  );
}

/** The row of an edited cell in a table that may have changed: the one with its text, else the one at its place. */
function sameRow(table: Table, { row, item }: Cell): Cell["row"] | undefined {
  const there = table.rows[item];
  const text = rowText(row);
  if (there !== undefined && rowText(there) === text) return there;
  return table.rows.find((r) => rowText(r) === text) ?? there;
}

/** The alignment of the columns, and how their cells are written. */
function looks(table: Table, columns: readonly number[], locale: string): { numeric: boolean[]; written: (CellFormat | undefined)[] } {
  const thousands = new Intl.NumberFormat(locale);
  const formats = columns.map((c) => table.formats?.[c]);
  return {
    numeric: formats.map((f, c) => isNumberKind(f) || (f?.kind !== "text" && isNumeric(table.rows, c))),
    written: formats.map((f, c) => {
      if (f !== undefined && (f.kind ?? "auto") !== "auto") return cellFormat(f, locale);
      return isGrouped(table.rows, c, table.headers[c] ?? "") ? (cell: string) => grouped(cell, thousands) : undefined;
    }),
  };
}

/** The placeholder for rows that are not rendered. */
function Gap({ rows }: { rows: number }): ReactNode {
  return rows > 0 && <tr className="content-gap" style={{ height: rows * rowHeight }} aria-hidden />;
}

/** The column widths of a long table. They are fixed, because they would change with the rendered rows. */
function Columns({ table, end }: { table: Table; end: boolean }): ReactNode {
  const all = useMemo(() => columnWidths(table), [table]);
  return (
    <colgroup>
      {all.map((w, i) => (
        <col key={i} style={{ width: `${w + 2}ch` }} />
      ))}
      {end && <col style={{ width: 28 }} />}
    </colgroup>
  );
}

/** The range of rows to render. */
function useVisible(count: number, many: boolean) {
  const ref = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ from: 0, to: manyRows });
  const update = (): void => {
    const e = ref.current;
    if (e === null || !many) return;
    const now = visibleRows(count, rowHeight, e.scrollTop, e.clientHeight);
    setRange((r) => (r.from === now.from && r.to === now.to ? r : now));
  };
  useEffect(() => {
    update();
    if (!many || ref.current === null) return;
    const observer = new ResizeObserver(update);
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [count, many]);
  return { ref, onScroll: update, ...(many ? { from: Math.min(range.from, count), to: Math.min(range.to, count) } : { from: 0, to: count }) };
}
