// The measurements of all replicas over the last 15 minutes, for the charts. At most one point per second; for the time before
// the page was opened, the hubs provide one every 5 seconds.

import type { Overview, Past } from "../api/types.js";

export const kept = 15 * 60 * 1000;
const apart = 950;
/** How long a point of the hubs is about. */
const slot = 5000;
/** How much time an axis shows at least. */
const narrowest = 2 * 60 * 1000;

export const measures = ["events", "deliveries", "appendP50", "appendP99", "agents", "queued", "takeovers"] as const;

export type Measure = (typeof measures)[number];

export interface Point extends Record<Measure, number> {
  /** In ms. */
  readonly time: number;
}

export interface History {
  readonly points: readonly Point[];
  /** How many takeovers each replica had counted. */
  readonly counted: Readonly<Record<string, number>>;
}

export const noHistory: History = { points: [], counted: {} };

/** The history with what the hubs remember of the time in which this page has seen nothing. */
export function recalled(h: History, past: Past): History {
  const points = [...h.points];
  for (const p of past.points) {
    const seen = h.points.some((own) => own.time >= p.time - slot && own.time < p.time + 2 * slot);
    if (!seen) points.push(p);
  }
  points.sort((a, b) => a.time - b.time);
  return { ...h, points };
}

/** From when to when an axis goes: from the first point, but neither too narrow nor longer than what is kept. All in ms. */
export function axisOf(first: number, last: number): [from: number, to: number] {
  return [last - Math.min(kept, Math.max(narrowest, last - first)), last];
}

/** Adds one overview of all replicas to the history. */
export function grown(h: History, o: Overview): History {
  const last = h.points.at(-1);
  if (last !== undefined && o.time < last.time + apart) return h;
  const sum = (of: (s: Overview["replicas"][number]) => number): number => o.replicas.reduce((n, r) => n + of(r), 0);
  const most = (of: (s: Overview["replicas"][number]) => number): number => o.replicas.reduce((n, r) => Math.max(n, of(r)), 0);
  const point: Point = {
    time: o.time,
    events: sum((r) => r.sample.events),
    deliveries: sum((r) => r.sample.deliveries),
    // The slowest replica counts: an average would hide it.
    appendP50: most((r) => r.sample.appendP50),
    appendP99: most((r) => r.sample.appendP99),
    agents: o.totals.agents,
    queued: o.totals.queued,
    // A replica that is seen for the first time, or was started again, counts from where it is.
    takeovers: sum((r) => Math.max(0, r.sample.takeovers - (h.counted[r.id] ?? r.sample.takeovers))),
  };
  const counted = { ...h.counted, ...Object.fromEntries(o.replicas.map((r) => [r.id, r.sample.takeovers])) };
  const points = [...h.points, point];
  const first = points.findIndex((p) => p.time > o.time - kept);
  return { points: first > 0 ? points.slice(first) : points, counted };
}
