// What became of an answer, and how a question ended.

import type { CloseReason, Connection, HITLClosed, Outbox, Sent } from "../../../core/src/index.js";
import type { Ask } from "./order.js";

export type AnswerState = { state: "open" } | { state: "sending" } | Refused;

export interface Refused {
  readonly state: "refused";
  readonly reason: string;
  readonly code: number;
  /** The part of the answer that was wrong, if the hub said which. */
  readonly field: string;
}

const open: AnswerState = { state: "open" };

/** How the newest answer from this tab is doing. It is on its way until the hub has closed the question. */
export function answerState(outbox: Pick<Outbox, "items">, ask: Ask): AnswerState {
  const mine = outbox.items.findLast((s) => isAnswerTo(s, ask));
  if (mine?.status === "sending") return { state: "sending" };
  if (mine?.status === "rejected") return { state: "refused", reason: mine.reason ?? "", code: mine.code ?? 0, field: mine.field ?? "" };
  return open;
}

function isAnswerTo({ data }: Sent, ask: Ask): boolean {
  if (ask.kind === "plan") return "request_id" in data && data.request_id === ask.id;
  return ask.kind === "approval" ? "dialogId" in data && data.dialogId === ask.id : "promptId" in data && data.promptId === ask.id;
}

/** How a question ended, when that is news here. */
export type Ending = { how: "otherTab" } | { how: "other"; user: string } | { how: "lost"; user: string } | { how: "expired" } | { how: "withdrawn" };

export interface Witness {
  /** What this tab sent. */
  outbox: Pick<Outbox, "items">;
  presence: readonly Connection[];
  /** Who uses this tab. */
  user: string;
  now: number;
}

/** How the hub says that a question is over. */
export interface Closed {
  readonly reason: CloseReason;
  readonly answeredBy?: string | undefined;
  readonly messageId?: string | undefined;
}

/** The same of a question of the plan. */
export function closedOf({ reason, answered_by: answeredBy, messageId }: HITLClosed): Closed {
  return { reason, answeredBy, messageId };
}

/** What to say of a question that was closed: nothing when the answer was ours. */
export function endingOf(ask: Ask, closed: Closed, w: Witness): Ending | undefined {
  if (closed.reason === "expired") return { how: "expired" };
  if (closed.reason === "cancelled") return { how: "withdrawn" };
  if (closed.messageId !== undefined && w.outbox.items.some((s) => s.id === closed.messageId)) return undefined;
  const by = w.presence.find((c) => c.connectionId === closed.answeredBy)?.user ?? "";
  const user = by === w.user ? "" : by;
  // The same question may have been asked and answered before; that was no race.
  if (w.outbox.items.some((s) => isAnswerTo(s, ask) && s.since > w.now - raceMs)) return { how: "lost", user };
  return user === "" ? { how: "otherTab" } : { how: "other", user };
}

/** How long an answer may have been on its way. */
const raceMs = 30_000;
