import { ArrowDown, ArrowUp } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { useFormat, useTexts } from "../i18n/use.js";
import { useShell } from "../shell/context.js";
import { content as texts } from "../texts/content.js";
import { CopyButton } from "../ui/copy.js";
import { columnIndexes, columnWidths, filterRows, grouped, isGrouped, isNumeric, nextSort, type Sort, sortRows, type Table, toTsv, visibleRows } from "./rows.js";

/** The number of rows above which only the visible ones are rendered, all with this height. */
const manyRows = 200;
const rowHeight = 28;
/** The number of rows from which a table can be filtered. */
const leastFiltered = 8;

export function TableView({ table, label }: { table: Table; label: string }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const language = useShell((s) => s.language);
  const [sort, setSort] = useState<Sort>();
  const columns = useMemo(() => columnIndexes(table), [table]);
  const numeric = useMemo(() => columns.map((c) => isNumeric(table.rows, c)), [table, columns]);
  const [filter, setFilter] = useState("");
  const separated = useMemo(() => columns.map((c) => isGrouped(table.rows, c, table.headers[c] ?? "")), [table, columns]);
  const thousands = useMemo(() => new Intl.NumberFormat(language === "ko" ? "ko-KR" : "en-GB"), [language]);
  const found = useMemo(() => filterRows(table.rows, filter), [table, filter]);
  const rows = useMemo(() => sortRows(found, sort, new Intl.Collator(language, { numeric: true })), [found, sort, language]);
  const many = rows.length > manyRows;
  const { ref, onScroll, from, to } = useVisible(rows.length, many);
  const name = (c: number): string => table.headers[c]?.trim() || t.column(c + 1);

  return (
    <div className="content-table-box">
      <div ref={ref} onScroll={onScroll} className="content-scroll" tabIndex={0} role="group" aria-label={label}>
        <table className={many ? "content-table content-table-many" : "content-table"} aria-rowcount={rows.length + 1}>
          {many && <Columns table={table} />}
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
            </tr>
          </thead>
          <tbody>
            <Gap rows={from} />
            {rows.slice(from, to).map((row, i) => (
              <tr key={from + i} aria-rowindex={from + i + 2}>
                {columns.map((c) => (
                  <td key={c} data-numeric={numeric[c]} title={many ? row[c] : undefined}>
                    {separated[c] === true ? grouped(row[c] ?? "", thousands) : row[c]}
                  </td>
                ))}
              </tr>
            ))}
            <Gap rows={rows.length - to} />
          </tbody>
        </table>
        {rows.length === 0 && <p className="content-empty">{filter.trim() === "" ? t.emptyTable : t.noRowFits}</p>}
      </div>
      <footer className="content-table-foot">
        <span aria-live="polite">{found === table.rows ? t.rows(format.number(rows.length)) : t.someRows(format.number(rows.length), format.number(table.rows.length))}</span>
        {table.rows.length >= leastFiltered && <input type="search" className="content-filter" value={filter} placeholder={t.filter} aria-label={t.filter} onChange={(e) => setFilter(e.target.value)} />}
        <CopyButton label={t.copyTable} text={() => toTsv(columns.map((c) => table.headers[c] ?? ""), rows)} />
      </footer>
    </div>
  );
}

/** The placeholder for rows that are not rendered. */
function Gap({ rows }: { rows: number }): ReactNode {
  return rows > 0 && <tr className="content-gap" style={{ height: rows * rowHeight }} aria-hidden />;
}

/** The column widths of a long table. They are fixed, because they would change with the rendered rows. */
function Columns({ table }: { table: Table }): ReactNode {
  const all = useMemo(() => columnWidths(table), [table]);
  return (
    <colgroup>
      {all.map((w, i) => (
        <col key={i} style={{ width: `${w + 2}ch` }} />
      ))}
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
