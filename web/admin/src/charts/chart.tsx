import { type ReactNode, useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { axisOf, type Measure, type Point } from "../state/history.js";

export interface Line {
  readonly measure: Measure;
  /** The token of its colour. */
  readonly colour: "accent" | "info" | "warning" | "danger";
}

interface ChartProps {
  points: readonly Point[];
  lines: readonly Line[];
  /** What the axis shows at least. */
  least: number;
  /** Whether there is nothing between two whole numbers. */
  whole: boolean;
  /** A number as its axis shows it. */
  show: (n: number) => string;
  /** Another look of the page draws it anew. */
  look: string;
}

/** As tall as .chart-plot, where it is drawn. */
const height = 84;

/** How far apart the lines of time may be, in seconds. */
const minutes = [60, 120, 300, 600, 900];

/** How far apart the lines of whole numbers may be. */
const wholes = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000];

/** Lines over the last quarter of an hour, or as much of it as is known. It is a picture only: what it shows is said beside it. */
export default function Chart({ points, lines, least, whole, show, look }: ChartProps): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef({ points, show });
  latest.current = { points, show };
  useEffect(() => {
    const at = box.current!;
    const token = (name: string): string => getComputedStyle(at).getPropertyValue(`--${name}`).trim();
    const grid = { stroke: token("line"), width: 1 };
    const axis = { stroke: token("ink-3"), font: `10px ${token("font")}`, grid, ticks: { show: false } };
    const chart = new uPlot(
      {
        width: Math.max(60, at.clientWidth),
        height,
        padding: [6, 4, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: true, range: (_, min, max) => axisOf(min * 1000, max * 1000).map((ms) => ms / 1000) as [number, number] }, y: { range: (_, __, max) => [0, Math.max(max * 1.1, least)] } },
        axes: [
          { ...axis, size: 16, gap: 2, space: 70, incrs: minutes, values: [[60, "{HH}:{mm}", null, null, null, null, null, null, 1]] },
          { ...axis, size: 44, gap: 2, space: 24, ...(whole ? { incrs: wholes } : {}), values: (_, ticks) => ticks.map((n) => latest.current.show(n)) },
        ],
        series: [{}, ...lines.map((l) => ({ stroke: token(l.colour), width: 1.5, points: { show: false }, spanGaps: false }))],
      },
      dataOf(latest.current.points, lines),
      at,
    );
    plot.current = chart;
    const watch = new ResizeObserver(() => {
      const width = Math.max(60, at.clientWidth);
      if (width !== chart.width) chart.setSize({ width, height });
    });
    watch.observe(at);
    return () => {
      watch.disconnect();
      chart.destroy();
      plot.current = undefined;
    };
  }, [lines, least, whole, look]);
  useEffect(() => plot.current?.setData(dataOf(points, lines)), [points, lines]);
  return <div ref={box} />;
}

function dataOf(points: readonly Point[], lines: readonly Line[]): uPlot.AlignedData {
  return [points.map((p) => p.time / 1000), ...lines.map((l) => points.map((p) => p[l.measure]))];
}
