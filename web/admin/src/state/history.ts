// The measurements of all replicas over the last 15 minutes, for the charts. At most one point per second; for the time
// before the page was opened, the hubs provide one every 5 seconds.

import type { Overview, Past } from "../api/types.js";

export const historyLength = 15 * 60 * 1000;
const minInterval = 950;
/** The interval of the hubs' points, in ms. */
const pastInterval = 5000;
/** The shortest axis, in ms. */
const minAxis = 2 * 60 * 1000;

export const measures = ["events", "deliveries", "appendP50", "appendP99", "agents", "queued", "takeovers"] as const;

export type Measure = (typeof measures)[number];

export interface Point extends Record<Measure, number> {
  /** In ms since 1970. */
  readonly time: number;
}

export interface History {
  readonly points: readonly Point[];
  /** The number of takeovers that each replica had counted. */
  readonly counted: Readonly<Record<string, number>>;
}

export const noHistory: History = { points: [], counted: {} };

/** Adds the hubs' points for times in which this page has none of its own. */
export function withPast(h: History, past: Past): History {
  const points = [...h.points];
  for (const p of past.points) {
    const seen = h.points.some((own) => own.time >= p.time - pastInterval && own.time < p.time + 2 * pastInterval);
    if (!seen) points.push(p);
  }
  points.sort((a, b) => a.time - b.time);
  return { ...h, points };
}

/** The range of an axis: from the first point, but at least minAxis and at most historyLength. All in ms. */
export function axisOf(first: number, last: number): [from: number, to: number] {
  return [last - Math.min(historyLength, Math.max(minAxis, last - first)), last];
}

export function withOverview(h: History, o: Overview): History {
  const last = h.points.at(-1);
  if (last !== undefined && o.time < last.time + minInterval) return h;
  const sum = (of: (s: Overview["replicas"][number]) => number): number => o.replicas.reduce((n, r) => n + of(r), 0);
  const maximum = (of: (s: Overview["replicas"][number]) => number): number => o.replicas.reduce((n, r) => Math.max(n, of(r)), 0);
  const point: Point = {
    time: o.time,
    events: sum((r) => r.sample.events),
    deliveries: sum((r) => r.sample.deliveries),
    // The slowest replica counts: an average would hide it.
    appendP50: maximum((r) => r.sample.appendP50),
    appendP99: maximum((r) => r.sample.appendP99),
    agents: o.totals.agents,
    queued: o.totals.queued,
    // A replica that is new or was restarted counts from its current value.
    takeovers: sum((r) => Math.max(0, r.sample.takeovers - (h.counted[r.id] ?? r.sample.takeovers))),
  };
  const counted = { ...h.counted, ...Object.fromEntries(o.replicas.map((r) => [r.id, r.sample.takeovers])) };
  const points = [...h.points, point];
  const first = points.findIndex((p) => p.time > o.time - historyLength);
  return { points: first > 0 ? points.slice(first) : points, counted };
}
