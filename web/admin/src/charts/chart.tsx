import { type ReactNode, useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { axisOf, type Measure, type Point } from "../state/history.js";

export interface Line {
  readonly measure: Measure;
  /** The colour token. */
  readonly colour: "accent" | "info" | "warning" | "danger";
}

interface ChartProps {
  points: readonly Point[];
  lines: readonly Line[];
  /** The smallest upper end of the y axis. */
  minTop: number;
  /** Whether the values are integers. */
  integer: boolean;
  /** Formats a number for the axis. */
  format: (n: number) => string;
  /** Identifies the theme; a change redraws the chart. */
  themeKey: string;
}

/** The height of .chart-plot in px, where the chart is drawn. */
const height = 84;

/** The possible distances of the time ticks, in seconds. */
const timeSteps = [60, 120, 300, 600, 900];

/** The possible distances of integer ticks. */
const integerSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000];

/**
 * Lines over the last 15 minutes, or the known part of them. The chart is decorative: the values are in the text beside
 * it.
 */
export default function Chart({ points, lines, minTop, integer, format, themeKey }: ChartProps): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef({ points, format });
  latest.current = { points, format };
  useEffect(() => {
    const at = box.current!;
    const token = (name: string): string => getComputedStyle(at).getPropertyValue(`--${name}`).trim();
    const grid = { stroke: token("line"), width: 1 };
    const axis = { stroke: token("ink-3"), font: `10px ${token("font")}`, grid, ticks: { show: false } };
    const chart = new uPlot(
      {
        width: Math.max(60, at.clientWidth),
        height,
        padding: [6, 16, 0, 0], // room for the right half of the last time
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: true, range: (_, min, max) => axisOf(min * 1000, max * 1000).map((ms) => ms / 1000) as [number, number] }, y: { range: (_, __, max) => [0, Math.max(max * 1.1, minTop)] } },
        axes: [
          { ...axis, size: 16, gap: 2, space: 70, incrs: timeSteps, values: [[60, "{HH}:{mm}", null, null, null, null, null, null, 1]] },
          { ...axis, size: 44, gap: 2, space: 24, ...(integer ? { incrs: integerSteps } : {}), values: (_, ticks) => ticks.map((n) => latest.current.format(n)) },
        ],
        series: [{}, ...lines.map((l) => ({ stroke: token(l.colour), width: 1.5, points: { show: false }, spanGaps: false }))],
      },
      dataOf(latest.current.points, lines),
      at,
    );
    plot.current = chart;
    const observer = new ResizeObserver(() => {
      const width = Math.max(60, at.clientWidth);
      if (width !== chart.width) chart.setSize({ width, height });
    });
    observer.observe(at);
    return () => {
      observer.disconnect();
      chart.destroy();
      plot.current = undefined;
    };
  }, [lines, minTop, integer, themeKey]);
  useEffect(() => plot.current?.setData(dataOf(points, lines)), [points, lines]);
  return <div ref={box} />;
}

function dataOf(points: readonly Point[], lines: readonly Line[]): uPlot.AlignedData {
  return [points.map((p) => p.time / 1000), ...lines.map((l) => points.map((p) => p[l.measure]))];
}
