import { lazy, type ReactNode, Suspense, useMemo, useState } from "react";
import { forBrowser } from "../../../desktop/src/shell/storage.js";
import { useMedia } from "../../../desktop/src/shell/viewport.js";
import { Boundary } from "../../../desktop/src/ui/boundary.js";
import { useFormat, useTexts } from "../i18n/use.js";
import type { Measure, Point } from "../state/history.js";
import { usePage } from "../state/use.js";
import { charts as texts } from "../texts.js";
import type { Line } from "./chart.js";

// The chart library is loaded on demand; the page keeps the space for it.
const Chart = lazy(() => import("./chart.js"));

const openKey = "everdesk.admin-charts";

type Unit = "count" | "rate" | "latency";

interface Panel {
  readonly name: "events" | "deliveries" | "append" | "agents" | "queued" | "takeovers";
  readonly lines: readonly Line[];
  readonly unit: Unit;
}

const panels: readonly Panel[] = [
  { name: "events", lines: [{ measure: "events", colour: "accent" }], unit: "rate" },
  { name: "deliveries", lines: [{ measure: "deliveries", colour: "accent" }], unit: "rate" },
  {
    name: "append",
    lines: [
      { measure: "appendP50", colour: "accent" },
      { measure: "appendP99", colour: "warning" },
    ],
    unit: "latency",
  },
  { name: "agents", lines: [{ measure: "agents", colour: "info" }], unit: "count" },
  { name: "queued", lines: [{ measure: "queued", colour: "info" }], unit: "count" },
  { name: "takeovers", lines: [{ measure: "takeovers", colour: "danger" }], unit: "count" },
];

export function Charts(): ReactNode {
  const t = useTexts(texts);
  const points = usePage((s) => s.history.points);
  const theme = usePage((s) => s.prefs.theme);
  const light = useMedia("(prefers-color-scheme: light)");
  const contrast = useMedia("(prefers-contrast: more)");
  const [open, setOpen] = useState(() => forBrowser.getItem(openKey) !== "no");
  const look = `${theme} ${light} ${contrast}`;
  return (
    <details
      className="charts"
      open={open}
      onToggle={(e) => {
        const now = e.currentTarget.open;
        setOpen(now);
        forBrowser.setItem(openKey, now ? "yes" : "no");
      }}
    >
      <summary>{t.show}</summary>
      {open && (
        <div className="charts-grid" role="group" aria-label={t.charts}>
          {panels.map((p) => (
            <Figure key={p.name} panel={p} points={points} look={look} />
          ))}
        </div>
      )}
    </details>
  );
}

function Figure({ panel, points, look }: { panel: Panel; points: readonly Point[]; look: string }): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  const show = (n: number): string => (panel.unit === "latency" ? (n === 0 ? "0" : f.latency(n)) : panel.unit === "rate" ? f.short(n) : f.number(n));
  const legend = useMemo(() => panel.lines.map((l) => ({ line: l, now: points.at(-1)?.[l.measure] ?? 0, most: maxOf(points, l.measure) })), [panel, points]);
  const nameOf = (l: Line): string => ({ appendP50: t.p50, appendP99: t.p99 })[l.measure as string] ?? "";
  return (
    <figure className="chart" data-chart={panel.name}>
      <figcaption>
        <strong>{t[panel.name]}</strong>
        <span className="chart-legend" aria-hidden>
          {legend.map(({ line, now, most }) => (
            <span key={line.measure}>
              <i className={`chart-key chart-key-${line.colour}`} />
              {nameOf(line)} {show(now)} {legend.length === 1 && <small>{`${t.most} ${show(most)}`}</small>}
            </span>
          ))}
        </span>
        <span className="hidden-text">{legend.map(({ line, now, most }) => t.summary(`${t[panel.name]} ${nameOf(line)}`.trim(), show(now), show(most))).join(" ")}</span>
      </figcaption>
      <div className="chart-plot" aria-hidden>
        <Boundary resetKey={panel} fallback={() => null}>
          <Suspense>
            <Chart points={points} lines={panel.lines} minTop={panel.unit === "latency" ? 0.001 : 1} integer={panel.unit === "count"} format={show} themeKey={look} />
          </Suspense>
        </Boundary>
      </div>
    </figure>
  );
}

function maxOf(points: readonly Point[], measure: Measure): number {
  return points.reduce((most, p) => Math.max(most, p[measure]), 0);
}
