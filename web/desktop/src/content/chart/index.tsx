// Charts of agents: data that is drawn with the colours of the theme. The numbers can be read as a table, and with the arrow keys.

import "./chart.css";
import { ChartColumn, Table2 } from "lucide-react";
import { type KeyboardEvent, lazy, type ReactNode, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useTexts } from "../../i18n/use.js";
import { useShell } from "../../shell/context.js";
import { chart as texts } from "../../texts/chart.js";
import { IconButton } from "../../ui/button.js";
import { type Chart, tableOf } from "./model.js";
import { Pie } from "./pie.js";
import { type Point, XYPlot } from "./plot.js";

// Tables load with the first window that has one.
const TableView = lazy(() => import("../table.js").then((m) => ({ default: m.TableView })));

export function ChartView({ chart, label }: { chart: Chart; label: string }): ReactNode {
  const t = useTexts(texts);
  const [asTable, setAsTable] = useState(false);
  const seriesName = (n: number): string => chart.series[n]?.name || (chart.series.length === 1 ? chart.yTitle || label : t.series(n + 1));
  const table = useMemo(() => tableOf(chart, { x: t.label, series: seriesName }), [chart, t, label]);
  const empty = table.rows.length === 0 || chart.series.length === 0;
  const toggle = <IconButton icon={asTable ? ChartColumn : Table2} size={15} label={asTable ? t.asChart : t.asTable} onClick={() => setAsTable(!asTable)} />;
  return (
    <div className="chart">
      {empty && <p className="content-empty">{t.empty}</p>}
      {!empty && asTable && (
        <>
          <div className="chart-head">{toggle}</div>
          <TableView table={table} label={label} />
        </>
      )}
      {!empty && !asTable && <Drawing chart={chart} label={label} seriesName={seriesName} toggle={toggle} />}
    </div>
  );
}

interface DrawingProps {
  chart: Chart;
  label: string;
  seriesName: (n: number) => string;
  /** The button that shows the numbers instead. */
  toggle: ReactNode;
}

function Drawing({ chart, label, seriesName, toggle: tableButton }: DrawingProps): ReactNode {
  const t = useTexts(texts);
  const language = useShell((s) => s.language);
  const about = useId();
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ w: 0, h: 0 });
  const [hidden, setHidden] = useState<ReadonlySet<number>>(new Set());
  const [point, setPoint] = useState<Point>();
  useLayoutEffect(() => {
    const el = box.current!;
    const measure = (): void => setSize({ w: el.clientWidth, h: el.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(el);
    return () => observer.disconnect();
  }, []);
  const format = useMemo(() => {
    const number = new Intl.NumberFormat(language, { maximumFractionDigits: 6 });
    return (v: number): string => number.format(v) + (chart.unit ? (chart.unit === "%" ? "%" : ` ${chart.unit}`) : "");
  }, [language, chart.unit]);
  const isPie = chart.kind === "pie";
  const parts = isPie ? (chart.labels ?? []) : chart.series.map((_, n) => seriesName(n));
  const visible = parts.map((_, n) => n).filter((n) => !hidden.has(n));
  const plots = { chart, size, visible, format, seriesName, point, onPoint: setPoint };
  const toggle = (n: number): void => {
    const next = new Set(hidden);
    if (!next.delete(n)) next.add(n);
    if (next.size < parts.length) setHidden(next);
    setPoint(undefined);
  };
  const count = isPie ? parts.length : chart.kind === "scatter" ? visible.reduce((sum, n) => sum + (chart.series[n]?.points?.length ?? 0), 0) : (chart.labels?.length ?? 0);
  const press = (e: KeyboardEvent): void => {
    if (e.altKey || e.ctrlKey || e.metaKey || e.target !== e.currentTarget) return;
    const at = point?.index ?? -1;
    const to = { ArrowRight: at + 1, ArrowLeft: at < 0 ? count - 1 : at - 1, Home: 0, End: count - 1 }[e.key];
    if (e.key === "Escape" && point !== undefined) setPoint(undefined);
    else if (to === undefined || count === 0) return;
    else setPoint({ index: Math.max(0, Math.min(count - 1, to)), byKey: true });
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <>
      {chart.description !== undefined && chart.description !== "" && (
        <p className="chart-about" id={about}>
          {chart.description}
        </p>
      )}
      <div className="chart-head">
        {parts.length > 1 && (
        <ul className="chart-legend" aria-label={t.legend}>
          {parts.map((name, n) => (
            <li key={n}>
              <button type="button" aria-pressed={!hidden.has(n)} title={hidden.has(n) ? t.show(name) : t.hide(name)} onClick={() => toggle(n)}>
                <span className="chart-swatch" data-series={n % 12} aria-hidden />
                <span>{name}</span>
                {isPie && <span className="chart-value">{format(chart.series[0]?.values?.[n] ?? 0)}</span>}
              </button>
            </li>
          ))}
        </ul>
        )}
        {tableButton}
      </div>
      <div
        ref={box}
        className="chart-box"
        role="group"
        aria-roledescription={t.chart}
        aria-label={t.named(t[chart.kind], label)}
        aria-describedby={chart.description ? about : undefined}
        tabIndex={0}
        onKeyDown={press}
        onPointerLeave={() => setPoint(undefined)}
        onBlur={() => setPoint(undefined)}
      >
        {size.w > 0 && size.h > 0 && (isPie ? <Pie {...plots} /> : <XYPlot {...plots} />)}
      </div>
    </>
  );
}
