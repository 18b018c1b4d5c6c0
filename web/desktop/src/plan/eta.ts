// How long a plan may still take: along the longest way through what is left of it, by the estimates of its todos and by
// how far those are that run. Pure.

import type { Todo, TodoID } from "../../../core/src/index.js";

export interface Eta {
  readonly ms: number;
  /** Every todo on the way had an estimate or told how far it is. */
  readonly sure: boolean;
}

/** What is left; undefined when nothing is, or nothing is known about it. `now` is the hub's time. */
export function etaOf(todos: readonly Todo[], now: number): Eta | undefined {
  const open = new Map(todos.filter(isOpen).map((t) => [t.id, t]));
  if (open.size === 0) return undefined;
  const usual = usualOf(todos);
  const left = new Map<TodoID, Eta>();
  const going = new Set<TodoID>();
  const leftOf = (id: TodoID): Eta => {
    const known = left.get(id);
    if (known !== undefined) return known;
    if (going.has(id)) return { ms: 0, sure: true };
    going.add(id);
    const t = open.get(id)!;
    const own = ownTime(t, now, usual);
    const before = longest(t.depends_on.filter((d) => open.has(d)).map(leftOf));
    const all = { ms: own.ms + before.ms, sure: own.sure && before.sure };
    left.set(id, all);
    return all;
  };
  const whole = longest([...open.keys()].map(leftOf));
  return whole.ms === 0 && !whole.sure ? undefined : whole;
}

/** Whether a todo will take time: those that failed or wait for one that did are not going to run by themselves. */
function isOpen(t: Todo): boolean {
  return ["pending", "needs_approval", "needs_input", "in_progress"].includes(t.status ?? "pending");
}

function longest(all: readonly Eta[]): Eta {
  return all.reduce((a, b) => ({ ms: Math.max(a.ms, b.ms), sure: a.sure && b.sure }), { ms: 0, sure: true });
}

/** What todos without an estimate take: as long as the others, if any is known. */
function usualOf(todos: readonly Todo[]): number | undefined {
  const known = todos.flatMap((t) => (t.duration_ms ? [t.duration_ms] : t.estimated_duration_sec ? [t.estimated_duration_sec * 1000] : []));
  return known.length === 0 ? undefined : known.reduce((a, b) => a + b, 0) / known.length;
}

function ownTime(t: Todo, now: number, usual: number | undefined): Eta {
  const estimate = t.estimated_duration_sec ? t.estimated_duration_sec * 1000 : undefined;
  const wait = Math.max(0, (t.retry_at ?? 0) - now);
  if (t.status !== "in_progress") return { ms: wait + (estimate ?? usual ?? 0), sure: estimate !== undefined };
  const elapsed = t.started_at ? Math.max(0, now - t.started_at) : 0;
  const part = (t.progress_percentage ?? 0) / 100;
  // What it did so far says more than what was thought before, the more of it there is.
  if (part > 0 && elapsed > 0) {
    const byPace = (elapsed * (1 - part)) / part;
    const byPlan = estimate === undefined ? byPace : estimate * (1 - part);
    return { ms: byPace * part + byPlan * (1 - part), sure: true };
  }
  return { ms: Math.max(0, (estimate ?? usual ?? 0) - elapsed), sure: estimate !== undefined };
}
