// What the person is asked, and which of it is in front.

import type { ApprovalRequest, DesktopState, HITLRequest, OpenPrompt } from "../../../core/src/index.js";

/** A question: an approval, a prompt, or one of the plan. Ids of all kinds may be the same, keys are not. */
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

/** Everything that is asked on all monitors, the most urgent first. */
export function asksOf(desktop: Pick<DesktopState, "dialogs" | "prompts" | "requests">): Ask[] {
  const approvals = [...desktop.dialogs.values()].map((request): Ask => ({ kind: "approval", key: `approval/${request.dialogId}`, id: request.dialogId, request }));
  const prompts = [...desktop.prompts.values()].map((request): Ask => ({ kind: "prompt", key: `prompt/${request.id}`, id: request.id, request }));
  const ofPlan = [...desktop.requests.values()].map((request): Ask => ({ kind: "plan", key: planKey(request), id: request.request_id, request }));
  return [...approvals, ...prompts, ...ofPlan].sort((a, b) => deadlineOf(a) - deadlineOf(b) || (a.key < b.key ? -1 : 1));
}

/** The key of a question of the plan. */
export function planKey(request: HITLRequest): string {
  return `plan/${request.request_id}`;
}

/**
 * Names a question together with all it says: one that says something else now has to be read anew. A plan that stood
 * still asks the same once more, with another deadline only.
 */
export function versionOf(ask: Ask): string {
  const says = ask.kind === "plan" ? { ...ask.request, expires_at: 0, timeout_sec: 0 } : ask.request;
  return `${ask.key} ${JSON.stringify(says)}`;
}

/** One without a deadline can wait for ever. */
export function deadlineOf(ask: Ask): number {
  return (ask.kind === "plan" ? ask.request.expires_at : ask.request.deadline) || Infinity;
}

/**
 * The one to show: that which is shown already, however urgent another one is, so that nothing changes under a hand that
 * is about to press; else the most urgent that was not put off.
 */
export function askInFront(asks: readonly Ask[], shown: string, later: ReadonlySet<string>): Ask | undefined {
  const open = asks.filter((a) => !later.has(a.key));
  return open.find((a) => a.key === shown) ?? open[0];
}

/** The one before or after another, round and round. */
export function neighbour(asks: readonly Ask[], key: string, by: 1 | -1): Ask | undefined {
  const at = asks.findIndex((a) => a.key === key);
  return asks[(at + by + asks.length) % asks.length];
}

/** How long there is when nothing else is said, in ms: as the hub has it. */
const usual = { approval: 60_000, prompt: 300_000 };

export interface Left {
  /** In ms; Infinity without a deadline. */
  ms: number;
  /** Of the whole time, from 0 to 1. */
  part: number;
}

/** How much time is left. `now` is the hub's time. */
export function timeLeft(ask: Ask, now: number): Left {
  const ms = Math.max(0, deadlineOf(ask) - now);
  const whole = ask.kind === "plan" ? ask.request.timeout_sec * 1000 || ms || 1 : usual[ask.kind];
  return { ms, part: ms === Infinity ? 1 : Math.min(1, ms / whole) };
}
