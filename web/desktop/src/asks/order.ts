// What the person is asked, and which of it is in front.

import type { ApprovalRequest, Desk, OpenPrompt } from "../../../core/src/index.js";

/** A question: an approval or a prompt. Ids of both kinds may be the same, keys are not. */
export type Ask =
  | { readonly kind: "approval"; readonly key: string; readonly id: string; readonly request: ApprovalRequest }
  | { readonly kind: "prompt"; readonly key: string; readonly id: string; readonly request: OpenPrompt };

/** Everything that is asked on all monitors, the most urgent first. */
export function asksOf(desk: Pick<Desk, "dialogs" | "prompts">): Ask[] {
  const approvals = [...desk.dialogs.values()].map((request): Ask => ({ kind: "approval", key: `approval/${request.dialogId}`, id: request.dialogId, request }));
  const prompts = [...desk.prompts.values()].map((request): Ask => ({ kind: "prompt", key: `prompt/${request.id}`, id: request.id, request }));
  return [...approvals, ...prompts].sort((a, b) => deadlineOf(a) - deadlineOf(b) || (a.key < b.key ? -1 : 1));
}

/** Names a question together with all it says: one that says something else now has to be read anew. */
export function versionOf(ask: Ask): string {
  return `${ask.key} ${JSON.stringify(ask.request)}`;
}

/** One without a deadline can wait for ever. */
export function deadlineOf(ask: Ask): number {
  return ask.request.deadline || Infinity;
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
  return { ms, part: ms === Infinity ? 1 : Math.min(1, ms / usual[ask.kind]) };
}
