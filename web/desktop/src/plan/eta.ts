// Estimates the remaining time of a plan: along the longest path through its open todos, by their estimates and by the
// progress of the running ones. Pure.

import type { Todo, TodoID } from "../../../core/src/index.js";

export interface Eta {
  readonly ms: number;
  /** Whether every todo on the path has an estimate or reports progress. */
  readonly reliable: boolean;
}

/** The remaining time; undefined if nothing is open or nothing is known. `now` is the hub's time. */
export function etaOf(todos: readonly Todo[], now: number): Eta | undefined {
  const open = new Map(todos.filter(isOpen).map((t) => [t.id, t]));
  if (open.size === 0) return undefined;
  const average = averageDuration(todos);
  const left = new Map<TodoID, Eta>();
  const visiting = new Set<TodoID>();
  const leftOf = (id: TodoID): Eta => {
    const known = left.get(id);
    if (known !== undefined) return known;
    if (visiting.has(id)) return { ms: 0, reliable: true };
    visiting.add(id);
    const t = open.get(id)!;
    const own = ownTime(t, now, average);
    const before = longest(t.depends_on.filter((d) => open.has(d)).map(leftOf));
    const all = { ms: own.ms + before.ms, reliable: own.reliable && before.reliable };
    left.set(id, all);
    return all;
  };
  const whole = longest([...open.keys()].map(leftOf));
  return whole.ms === 0 && !whole.reliable ? undefined : whole;
}

/** Whether a todo will still take time: failed todos, and those blocked by one, do not run by themselves. */
function isOpen(t: Todo): boolean {
  return ["pending", "needs_approval", "needs_input", "in_progress"].includes(t.status ?? "pending");
}

function longest(all: readonly Eta[]): Eta {
  return all.reduce((a, b) => ({ ms: Math.max(a.ms, b.ms), reliable: a.reliable && b.reliable }), { ms: 0, reliable: true });
}

/** The average of the known durations and estimates, for todos without an estimate. */
function averageDuration(todos: readonly Todo[]): number | undefined {
  const known = todos.flatMap((t) => (t.duration_ms ? [t.duration_ms] : t.estimated_duration_sec ? [t.estimated_duration_sec * 1000] : []));
  return known.length === 0 ? undefined : known.reduce((a, b) => a + b, 0) / known.length;
}

function ownTime(t: Todo, now: number, average: number | undefined): Eta {
  const estimate = t.estimated_duration_sec ? t.estimated_duration_sec * 1000 : undefined;
  const wait = Math.max(0, (t.retry_at ?? 0) - now);
  if (t.status !== "in_progress") return { ms: wait + (estimate ?? average ?? 0), reliable: estimate !== undefined };
  const elapsed = t.started_at ? Math.max(0, now - t.started_at) : 0;
  const part = (t.progress_percentage ?? 0) / 100;
  // The more of a todo is done, the more its own pace counts against the estimate.
  if (part > 0 && elapsed > 0) {
    const byPace = (elapsed * (1 - part)) / part;
    const byPlan = estimate === undefined ? byPace : estimate * (1 - part);
    return { ms: byPace * part + byPlan * (1 - part), reliable: true };
  }
  return { ms: Math.max(0, (estimate ?? average ?? 0) - elapsed), reliable: estimate !== undefined };
}
