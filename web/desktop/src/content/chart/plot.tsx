import { type PointerEvent, type ReactNode, useMemo } from "react";
import { useShell } from "../../shell/context.js";
import { areaPath, type Box, barsOf, type Chart, labelAt, labelPosition, levelsOf, linesOf, type Mark, pathOf, scatterOf, valueAxis } from "./model.js";
import { type Axis, formatOf, positionOf, textWidth, visibleLabels } from "./scale.js";
import { Tooltip } from "./tooltip.js";

/** The point of a chart that is looked at. */
export interface Point {
  readonly index: number;
  readonly byKey?: boolean;
}

export interface PlotProps {
  chart: Chart;
  size: { w: number; h: number };
  /** The indexes of the series, or of the slices of a pie, that are not hidden. */
  visible: readonly number[];
  format: (v: number) => string;
  seriesName: (n: number) => string;
  point: Point | undefined;
  onPoint: (p: Point | undefined) => void;
}

const lineHeight = 16;
/** Lines with more points than this have no dots. */
const manyPoints = 40;

/** Charts with two axes: lines, areas, bars and points. */
export function XYPlot({ chart, size, visible, format, seriesName, point, onPoint }: PlotProps): ReactNode {
  const language = useShell((s) => s.language);
  const isScatter = chart.kind === "scatter";
  const labels = chart.labels ?? [];
  const levels = useMemo(() => levelsOf(chart, visible), [chart, visible.join()]);
  const yCount = Math.max(2, Math.min(8, Math.floor(size.h / 48)));
  const xCount = Math.max(2, Math.min(10, Math.floor(size.w / 80)));

  // The width of the tick labels decides where the plot begins, so the axis comes first.
  const whole = { x: 0, y: 0, w: 1, h: 1 };
  const y = isScatter ? scatterOf(chart, visible, whole, { x: xCount, y: yCount }).y : valueAxis(chart, levels, yCount);
  const yFormat = formatOf(language, y);
  const left = Math.ceil(Math.max(...y.ticks.map((v) => textWidth(yFormat(v))))) + 12 + (chart.yTitle ? lineHeight : 0);
  const bottom = lineHeight + 8 + (chart.xTitle ? lineHeight : 0);
  const plot = { x: left, y: 10, w: Math.max(10, size.w - left - 14), h: Math.max(10, size.h - bottom - 10) };
  const scatter = isScatter ? scatterOf(chart, visible, plot, { x: xCount, y: yCount }) : undefined;
  const atY = (v: number): number => positionOf(v, y, plot.y + plot.h, plot.y);

  const move = (e: PointerEvent<SVGSVGElement>): void => {
    const box = e.currentTarget.getBoundingClientRect();
    const px = e.clientX - box.left;
    const py = e.clientY - box.top;
    if (px < plot.x - 8 || px > plot.x + plot.w + 8) return onPoint(undefined);
    const index = scatter === undefined ? labelAt(chart, px, plot) : nearest(scatter.marks, px, py);
    if (index !== point?.index) onPoint(index === undefined ? undefined : { index });
  };
  const mark = scatter?.marks[point?.index ?? -1];
  return (
    <>
      <svg className="chart-svg" width={size.w} height={size.h} aria-hidden onPointerMove={move}>
        <Grid axis={y} at={atY} format={yFormat} plot={plot} />
        {chart.yTitle && (
          <text className="chart-axis-title" transform={`translate(${lineHeight - 4} ${plot.y + plot.h / 2}) rotate(-90)`} textAnchor="middle">
            {chart.yTitle}
          </text>
        )}
        {chart.xTitle && (
          <text className="chart-axis-title" x={plot.x + plot.w / 2} y={size.h - 5} textAnchor="middle">
            {chart.xTitle}
          </text>
        )}
        {scatter === undefined ? (
          visibleLabels(labels.map(textWidth), plot.w).map((i) => (
            <text key={i} className="chart-tick" x={labelX(chart, i, plot, textWidth(labels[i]!))} y={plot.y + plot.h + lineHeight} textAnchor="middle">
              {labels[i]}
            </text>
          ))
        ) : (
          <XTicks axis={scatter.x} format={formatOf(language, scatter.x)} plot={plot} />
        )}
        {point !== undefined && scatter === undefined && <line className="chart-guide" x1={labelPosition(chart, point.index, plot)} x2={labelPosition(chart, point.index, plot)} y1={plot.y} y2={plot.y + plot.h} />}
        {chart.kind === "bar" &&
          barsOf(chart, levels, y, plot).map((b) => (
            <rect key={`${b.series} ${b.index}`} className="chart-bar" data-series={b.series % 12} data-faint={(point !== undefined && point.index !== b.index) || undefined} x={b.x} y={b.y} width={b.w} height={b.h} rx={Math.min(3, b.w / 4)} />
          ))}
        {(chart.kind === "line" || chart.kind === "area") &&
          linesOf(chart, levels, y, plot).map(({ series, top, bottom: base }) => (
            <g key={series} data-series={series % 12}>
              {chart.kind === "area" && <path className="chart-area" data-stacked={chart.stacked || undefined} d={areaPath(top, base)} />}
              <path className="chart-line" d={pathOf(top)} />
              {top.map((m) => (top.length <= manyPoints || m.index === point?.index) && <circle key={m.index} className="chart-dot" cx={m.x} cy={m.y} r={m.index === point?.index ? 5 : 3} />)}
            </g>
          ))}
        {scatter?.marks.map((m, i) => (
          <circle key={`${m.series} ${m.index}`} className="chart-point" data-series={m.series % 12} cx={m.x} cy={m.y} r={i === point?.index ? 7 : 4.5} />
        ))}
      </svg>
      {point !== undefined && scatter === undefined && (
        <Tooltip
          title={labels[point.index] ?? ""}
          lines={visible.map((n) => ({ series: n, name: seriesName(n), value: format(chart.series[n]?.values?.[point.index] ?? 0) }))}
          x={labelPosition(chart, point.index, plot)}
          y={plot.y}
          size={size}
          announced={point.byKey === true}
        />
      )}
      {point !== undefined && mark !== undefined && (
        <Tooltip
          title=""
          lines={[{ series: mark.series, name: seriesName(mark.series), value: (chart.series[mark.series]?.points?.[mark.index] ?? []).map(format).join(", ") }]}
          x={mark.x}
          y={mark.y}
          size={size}
          announced={point.byKey === true}
        />
      )}
    </>
  );
}

/** The position of a label: in the middle of its place, but inside the drawing. */
function labelX(chart: Chart, i: number, plot: Box, width: number): number {
  const middle = labelPosition(chart, i, plot);
  return Math.min(middle, plot.x + plot.w + 12 - width / 2);
}

function nearest(marks: readonly Mark[], x: number, y: number): number | undefined {
  let best: number | undefined;
  let least = 30 ** 2;
  for (const [i, m] of marks.entries()) {
    const d = (m.x - x) ** 2 + (m.y - y) ** 2;
    if (d < least) [best, least] = [i, d];
  }
  return best;
}

interface GridProps {
  axis: Axis;
  at: (v: number) => number;
  format: (v: number) => string;
  plot: { x: number; y: number; w: number; h: number };
}

function Grid({ axis, at, format, plot }: GridProps): ReactNode {
  return axis.ticks.map((v) => (
    <g key={v}>
      <line className={v === 0 ? "chart-zero" : "chart-grid"} x1={plot.x} x2={plot.x + plot.w} y1={at(v)} y2={at(v)} />
      <text className="chart-tick" x={plot.x - 8} y={at(v) + 4} textAnchor="end">
        {format(v)}
      </text>
    </g>
  ));
}

function XTicks({ axis, format, plot }: Omit<GridProps, "at">): ReactNode {
  return axis.ticks.map((v) => {
    const x = positionOf(v, axis, plot.x, plot.x + plot.w);
    return (
      <g key={v}>
        <line className="chart-grid" x1={x} x2={x} y1={plot.y} y2={plot.y + plot.h} />
        <text className="chart-tick" x={x} y={plot.y + plot.h + lineHeight} textAnchor="middle">
          {format(v)}
        </text>
      </g>
    );
  });
}
