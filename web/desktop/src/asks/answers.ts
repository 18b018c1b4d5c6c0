// The state of an answer sent from this tab, and how a question ended.

import type { CloseReason, Connection, HITLClosed, Outbox, Sent } from "../../../core/src/index.js";
import type { Ask } from "./order.js";

export type AnswerState = { state: "open" } | { state: "sending" } | RejectedAnswer;

export interface RejectedAnswer {
  readonly state: "refused";
  readonly reason: string;
  readonly code: number;
  /** The name of the invalid field of the answer; empty if the hub named none. */
  readonly field: string;
}

const open: AnswerState = { state: "open" };

/** The state of the newest answer from this tab: "sending" until the hub closes the question or rejects the answer. */
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

/** How a question ended, when this tab did not end it itself. */
export type Ending = { how: "otherTab" } | { how: "other"; user: string } | { how: "lost"; user: string } | { how: "expired" } | { how: "withdrawn" };

export interface EndingContext {
  outbox: Pick<Outbox, "items">;
  presence: readonly Connection[];
  /** The user of this tab. */
  user: string;
  now: number;
}

/** The fields of the hub's event that closes a question. */
export interface ClosedQuestion {
  readonly reason: CloseReason;
  readonly answeredBy?: string | undefined;
  readonly messageId?: string | undefined;
}

/** The fields of a closed plan question, by the names of the other kinds. */
export function fromHITLClosed({ reason, answered_by: answeredBy, messageId }: HITLClosed): ClosedQuestion {
  return { reason, answeredBy, messageId };
}

/** How a closed question ended; undefined when an answer from this tab closed it. */
export function endingOf(ask: Ask, closed: ClosedQuestion, w: EndingContext): Ending | undefined {
  if (closed.reason === "expired") return { how: "expired" };
  if (closed.reason === "cancelled") return { how: "withdrawn" };
  if (closed.messageId !== undefined && w.outbox.items.some((s) => s.id === closed.messageId)) return undefined;
  const by = w.presence.find((c) => c.connectionId === closed.answeredBy)?.user ?? "";
  const user = by === w.user ? "" : by;
  // Only a recent answer competed for this question: the same question may have been asked and answered before.
  if (w.outbox.items.some((s) => isAnswerTo(s, ask) && s.since > w.now - raceMs)) return { how: "lost", user };
  return user === "" ? { how: "otherTab" } : { how: "other", user };
}

/** The age up to which an answer of this tab counts as sent at the same time as the one that won, in ms. */
const raceMs = 30_000;
