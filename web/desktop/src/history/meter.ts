// The context use of a monitor's main agent, and whether its history can be condensed now.

import type { Agent, ContextUse, MonitorID, MonitorStatus } from "../../../core/src/index.js";

export type Fullness = "calm" | "near" | "over" | "unknown";

export interface Meter {
  readonly tokens: number;
  readonly window: number;
  /** The fraction of the context window, from 0 to 1. */
  readonly part: number;
  readonly percent: number;
  readonly state: Fullness;
  readonly condensing: boolean;
}

/** The fractions from which little, and almost no, context is left. */
const near = 0.7;
const over = 0.9;

/** Undefined if the context use is not known yet. */
export function meterOf(use: ContextUse | undefined): Meter | undefined {
  if (use === undefined || (use.tokens <= 0 && use.condensing !== true)) return undefined;
  const window = Math.max(0, use.window ?? 0);
  const share = window > 0 ? Math.max(0, use.tokens) / window : 0;
  const state = window === 0 ? "unknown" : share >= over ? "over" : share >= near ? "near" : "calm";
  return { tokens: use.tokens, window, part: Math.min(1, share), percent: Math.round(share * 100), state, condensing: use.condensing === true };
}

/** A short form, as in 950, 12k, 1.2M. */
export function shortTokens(n: number): string {
  if (n < 1_000) return `${n}`;
  if (n < 9_950) return `${(n / 1_000).toFixed(1).replace(/\.0$/, "")}k`;
  return n < 999_500 ? `${Math.round(n / 1_000)}k` : `${(n / 1_000_000).toFixed(1).replace(/\.0$/, "")}M`;
}

export type CondenseBlocker = "offline" | "condensing" | "busy" | "empty";

interface CondenseContext {
  readonly live: boolean;
  readonly status: MonitorStatus | undefined;
  readonly agents: ReadonlyMap<unknown, Pick<Agent, "kind" | "monitorId" | "status">>;
  /** Whether a CONDENSE of this tab is under way. */
  readonly asked: boolean;
}

/** Why the history of a monitor cannot be condensed now; undefined if it can. */
export function condenseBlocker(monitor: MonitorID, { live, status, agents, asked }: CondenseContext): CondenseBlocker | undefined {
  if (!live) return "offline";
  if (asked || status?.context?.condensing === true) return "condensing";
  if (meterOf(status?.context) === undefined) return "empty";
  for (const a of agents.values()) if (a.kind === "main" && a.monitorId === monitor && a.status !== "idle") return "busy";
  return undefined;
}
