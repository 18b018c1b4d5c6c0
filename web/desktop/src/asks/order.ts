// The open questions, and which of them is in front.

import type { ApprovalRequest, DesktopState, HITLRequest, OpenPrompt } from "../../../core/src/index.js";

/** A question: an approval, a prompt, or one of the plan. Ids are unique only within a kind, keys among all. */
export type Ask =
  | { readonly kind: "approval"; readonly key: string; readonly id: string; readonly request: ApprovalRequest }
  | { readonly kind: "prompt"; readonly key: string; readonly id: string; readonly request: OpenPrompt }
  | PlanAsk;

export interface PlanAsk {
  readonly kind: "plan";
  readonly key: string;
  readonly id: string;
  readonly request: HITLRequest;
}

/** The questions of all monitors, the earliest deadline first. */
export function asksOf(desktop: Pick<DesktopState, "dialogs" | "prompts" | "requests">): Ask[] {
  const approvals = [...desktop.dialogs.values()].map((request): Ask => ({ kind: "approval", key: `approval/${request.dialogId}`, id: request.dialogId, request }));
  const prompts = [...desktop.prompts.values()].map((request): Ask => ({ kind: "prompt", key: `prompt/${request.id}`, id: request.id, request }));
  const ofPlan = [...desktop.requests.values()].map((request): Ask => ({ kind: "plan", key: planKey(request), id: request.request_id, request }));
  return [...approvals, ...prompts, ...ofPlan].sort((a, b) => deadlineOf(a) - deadlineOf(b) || (a.key < b.key ? -1 : 1));
}

export function planKey(request: HITLRequest): string {
  return `plan/${request.request_id}`;
}

/**
 * Identifies a question and its content: a question whose content changes has to be read again. A paused plan asks the
 * same question again with another deadline, so the deadline does not count.
 */
export function versionOf(ask: Ask): string {
  const says = ask.kind === "plan" ? { ...ask.request, expires_at: 0, timeout_sec: 0 } : ask.request;
  return `${ask.key} ${JSON.stringify(says)}`;
}

/** The deadline in the hub's time; Infinity without one. */
export function deadlineOf(ask: Ask): number {
  return (ask.kind === "plan" ? ask.request.expires_at : ask.request.deadline) || Infinity;
}

/**
 * The question to show: the one shown already, however urgent another is, so that nothing changes under the pointer;
 * else the most urgent one that was not postponed.
 */
export function askInFront(asks: readonly Ask[], shown: string, later: ReadonlySet<string>): Ask | undefined {
  const open = asks.filter((a) => !later.has(a.key));
  return open.find((a) => a.key === shown) ?? open[0];
}

/** The question before or after another one; the ends are joined. */
export function adjacentAsk(asks: readonly Ask[], key: string, by: 1 | -1): Ask | undefined {
  const at = asks.findIndex((a) => a.key === key);
  return asks[(at + by + asks.length) % asks.length];
}

/** The time to answer, as in the hub, in ms. */
const defaultTimeouts = { approval: 60_000, prompt: 300_000 };

export interface TimeLeft {
  /** In ms; Infinity without a deadline. */
  ms: number;
  /** The fraction of the whole time, from 0 to 1. */
  part: number;
}

/** The time left to answer. `now` is the hub's time. */
export function timeLeft(ask: Ask, now: number): TimeLeft {
  const ms = Math.max(0, deadlineOf(ask) - now);
  const whole = ask.kind === "plan" ? ask.request.timeout_sec * 1000 || ms || 1 : defaultTimeouts[ask.kind];
  return { ms, part: ms === Infinity ? 1 : Math.min(1, ms / whole) };
}
