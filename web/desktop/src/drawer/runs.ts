// What agents do between two texts is often long and of little interest: many steps become one line that opens.

import type { AgentID } from "../../../core/src/index.js";
import { type Entry, type RowEntry, sameEntry } from "./entries.js";
import { toolOf } from "./tool.js";

/** Steps of one turn without anything between them. */
export interface RunEntry {
  readonly kind: "run";
  readonly key: string;
  readonly ts: number;
  readonly steps: readonly RowEntry[];
}

/** So many steps are shown as they are. */
const few = 3;

/** Puts steps that follow each other together. The newest step of an agent that works now stays in sight. */
export function withRuns(entries: readonly Entry[], working: ReadonlySet<AgentID>): (Entry | RunEntry)[] {
  const all: (Entry | RunEntry)[] = [];
  let steps: RowEntry[] = [];
  const close = (atEnd: boolean): void => {
    const goesOn = atEnd && steps.length > 0 && working.has(steps[0]!.row.agentId ?? "");
    const over = goesOn ? steps.slice(0, -1) : steps;
    if (over.length > few) all.push({ kind: "run", key: `f${over[0]!.ts}`, ts: over[0]!.ts, steps: over }, ...steps.slice(over.length));
    else all.push(...steps);
    steps = [];
  };
  for (const e of entries) {
    const isStep = e.kind === "tool" || e.kind === "thinking";
    if (steps.length > 0 && (!isStep || !sameTurn(steps[0]!, e))) close(false);
    if (isStep) steps.push(e);
    else all.push(e);
  }
  close(true);
  return all;
}

function sameTurn(a: RowEntry, b: RowEntry): boolean {
  return a.monitorId === b.monitorId && a.row.agentId === b.row.agentId && a.row.messageId === b.row.messageId;
}

export function sameRun(a: RunEntry, b: RunEntry): boolean {
  return a.key === b.key && a.steps.length === b.steps.length && a.steps.every((s, i) => sameEntry(s, b.steps[i]!));
}

export interface RunSummary {
  /** The tools in the order in which they were first used, with how often if that was more than once. */
  readonly tools: string;
  /** From the beginning of the first step, as far as that is known, to the end of the last. */
  readonly durationMs: number;
  readonly failed: readonly RowEntry[];
}

export function summaryOf(steps: readonly RowEntry[]): RunSummary {
  const counts = new Map<string, number>();
  const failed: RowEntry[] = [];
  for (const s of steps) {
    if (s.kind !== "tool") continue;
    const call = toolOf(s.row);
    if (call.tool !== "") counts.set(call.tool, (counts.get(call.tool) ?? 0) + 1);
    if (call.failed) failed.push(s);
  }
  const first = steps[0]!;
  const before = first.kind === "tool" ? (toolOf(first.row).durationMs ?? 0) : 0;
  return {
    tools: [...counts].map(([tool, n]) => (n > 1 ? `${tool} ×${n}` : tool)).join(", "),
    durationMs: Math.max(0, steps.at(-1)!.ts - first.ts + before),
    failed,
  };
}
