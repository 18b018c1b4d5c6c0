// Groups the steps that an agent takes between two texts: many steps become one line that expands.

import type { AgentID } from "../../../core/src/index.js";
import { type Entry, type RowEntry, sameEntry } from "./entries.js";
import type { PlanEnd } from "./plan-ends.js";
import { parseToolCall } from "./tool.js";
import type { ToolAction } from "./tool-actions.js";

/** Consecutive steps of one turn. */
export interface StepGroup {
  readonly kind: "steps";
  readonly key: string;
  readonly ts: number;
  readonly steps: readonly RowEntry[];
}

/** The number of steps up to which they are shown one by one. */
const maxUngrouped = 3;

/** Groups consecutive steps. The newest step of a working agent stays visible. */
export function groupSteps<T extends Entry | PlanEnd>(entries: readonly T[], working: ReadonlySet<AgentID>): (T | RowEntry | StepGroup)[] {
  const all: (T | RowEntry | StepGroup)[] = [];
  let steps: RowEntry[] = [];
  const close = (atEnd: boolean): void => {
    const continues = atEnd && steps.length > 0 && working.has(steps[0]!.row.agentId ?? "");
    const grouped = continues ? steps.slice(0, -1) : steps;
    if (grouped.length > maxUngrouped) all.push({ kind: "steps", key: `f${grouped[0]!.ts}`, ts: grouped[0]!.ts, steps: grouped }, ...steps.slice(grouped.length));
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

export function sameStepGroup(a: StepGroup, b: StepGroup): boolean {
  return a.key === b.key && a.steps.length === b.steps.length && a.steps.every((s, i) => sameEntry(s, b.steps[i]!));
}

export interface StepSummary {
  /** What the calls did that did not fail, in their order. */
  readonly actions: readonly ToolAction[];
  /** The time from the start of the first step, if known, to the end of the last. */
  readonly durationMs: number;
  readonly failed: readonly RowEntry[];
}

export function summaryOf(steps: readonly RowEntry[]): StepSummary {
  const actions: ToolAction[] = [];
  const failed: RowEntry[] = [];
  for (const s of steps) {
    if (s.kind !== "tool") continue;
    const call = parseToolCall(s.row);
    if (call.failed) failed.push(s);
    else if (call.action !== undefined) actions.push(call.action);
  }
  const first = steps[0]!;
  const before = first.kind === "tool" ? (parseToolCall(first.row).durationMs ?? 0) : 0;
  return {
    actions,
    durationMs: Math.max(0, steps.at(-1)!.ts - first.ts + before),
    failed,
  };
}
