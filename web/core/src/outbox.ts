// The outbox: messages are kept until the hub answers them, sent again with the same id over new connections, and followed
// until the turn that processes them ends. All functions are pure and return a new outbox.

import type { HubEvent, KnownEvent } from "./event.js";
import { type DesktopState, firstMonitor } from "./state.js";
import type { AgentID, ClientPayloads, ErrorNotice, MessageID, MonitorID } from "./wire.gen.js";

/** The status of a message. */
export type MessageStatus =
  | "sending" // not acknowledged yet
  | "queued" // waiting for its agent
  | "accepted" // started a turn of an agent
  | "steered" // added to the running turn
  | "ephemeral" // started an ephemeral agent
  | "running" // its turn has sent output
  | "done" // acknowledged; nothing follows
  | "completed"
  | "failed"
  | "interrupted"
  | "ended" // its turn is over with an unknown outcome
  | "rejected"; // refused permanently

export interface Message<T extends keyof ClientPayloads = keyof ClientPayloads> {
  readonly id: MessageID;
  readonly type: T;
  readonly data: ClientPayloads[T];
  /** The time the user sent it, in Unix ms. */
  readonly since: number;
}

/** An unwritten message of a type that the hub does not answer. */
export interface OneWayMessage extends Message {
  /** The id of the last item when it was enqueued, which keeps the order of writing. */
  readonly after: MessageID;
}

export interface Sent<T extends keyof ClientPayloads = keyof ClientPayloads> extends Message<T> {
  readonly status: MessageStatus;
  /** The agent whose turn processes it. */
  readonly agentId?: AgentID;
  /** Its position in the queue, from 1. */
  readonly position?: number;
  /** The reason of status rejected, failed or interrupted. */
  readonly reason?: string;
  /** The code of the reason, if it has one. */
  readonly reasonCode?: string;
  readonly code?: number;
  /** The invalid field, if it was rejected because of one. */
  readonly field?: string;

  /** The connection it was last written to; 0 if none, -1 if by the previous page. */
  readonly written: number;
  /** Whether it must be written again. */
  readonly again: boolean;
  /** The number of replies that asked to wait. */
  readonly waits: number;
}

export interface Outbox {
  /** The messages that are followed to their end. The array keeps its identity when only `notes` changes. */
  readonly items: readonly Sent[];
  /** The messages that the hub does not answer, until they are written. */
  readonly notes: readonly OneWayMessage[];
  /** The earliest time of the next write. */
  readonly hold: number;
  /** The minimum time between two messages, set after a rate limit error. */
  readonly gap: number;
  /** The time of the last write. */
  readonly last: number;
}

/** The bounds of an outbox. */
export const outboxLimits = {
  /** Unanswered messages plus unwritten notes; beyond that enqueue refuses. */
  unanswered: 64,
  /** Remembered messages. Beyond that the oldest ended ones are dropped, rejected messages of the user last. */
  all: 200,
  /** Resends of a message because the hub was busy. Waiting for the store is not limited. */
  waits: 20,
} as const;

const firstWait = 500;
const maxWait = 30_000;
const minGap = 10;
const maxGap = 10_000;

export const emptyOutbox: Outbox = { items: [], notes: [], hold: 0, gap: 0, last: 0 };

/** The message types that the hub always answers. */
const answered = new Set<string>([
  "USER_MESSAGE",
  "WINDOW_MESSAGE",
  "COMPONENT_ACTION",
  "EMIT",
  "DIALOG_FEEDBACK",
  "USER_PROMPT_RESPONSE",
  "REWIND",
  "EDIT_MESSAGE",
  "CONDENSE",
  "hitl_plan_response",
  "hitl_approval_response",
  "hitl_input_response",
  "hitl_clarification_response",
  "control_pause",
  "control_resume",
  "control_cancel",
  "control_retry",
  "control_skip",
]);

/** The message types that a turn processes. */
const turns = new Set<string>(["USER_MESSAGE", "WINDOW_MESSAGE", "COMPONENT_ACTION", "EDIT_MESSAGE"]);

/** Whether messages of a type are kept until answered. Others are done when they are written. */
export function isAnswered(type: string): boolean {
  return answered.has(type);
}

/** Whether messages of a type are items. DELETE_QUEUED_MESSAGE is one although the hub does not answer it, because the page shows which messages were withdrawn. */
function isFollowed(type: string): boolean {
  return isAnswered(type) || type === "DELETE_QUEUED_MESSAGE";
}

export function hasEnded(s: Sent): boolean {
  return ["done", "completed", "failed", "interrupted", "ended", "rejected"].includes(s.status);
}

/** Adds a message; undefined if too many are unanswered or its id is already in the outbox. */
export function enqueue(o: Outbox, m: Message): Outbox | undefined {
  const place = placementKey(m);
  const notes = place === undefined ? o.notes : o.notes.filter((n) => placementKey(n) !== place);
  if (o.items.filter((i) => i.status === "sending").length + notes.length >= outboxLimits.unanswered) return undefined;
  if (o.items.some((i) => i.id === m.id) || notes.some((n) => n.id === m.id)) return undefined;
  if (!isFollowed(m.type)) return { ...o, notes: [...notes, { ...m, after: o.items.at(-1)?.id ?? "" }] };
  return { ...o, items: dropOldest([...o.items, { ...m, status: "sending", written: 0, again: false, waits: 0 }]) };
}

/** The key of a message that only moves or resizes one window. A newer message with the same key replaces it. */
function placementKey(m: Message): string | undefined {
  if (m.type !== "USER_INTERACTION") return undefined;
  const { monitorId, interactions } = m.data as ClientPayloads["USER_INTERACTION"];
  const [did, ...more] = interactions;
  const moved = did?.type === "window.move" || did?.type === "window.resize";
  return moved && more.length === 0 ? JSON.stringify([monitorId, did.windowId, did.type]) : undefined;
}

/** Drops the oldest ended messages beyond the limit. Rejected messages of the user exist nowhere else, so they are dropped last. */
function dropOldest(items: readonly Sent[]): readonly Sent[] {
  let excess = items.length - outboxLimits.all;
  if (excess <= 0) return items;
  const isLost = (s: Sent): boolean => s.status === "rejected" && turns.has(s.type);
  const rest = items.filter((i) => !(hasEnded(i) && !isLost(i) && excess-- > 0));
  return rest.filter((i) => !(isLost(i) && excess-- > 0));
}

/** The next message to write to a connection, or the time to call again; 0 means after the next change. */
export function nextToWrite(o: Outbox, conn: number, now: number): { sent?: Message; at: number } {
  const i = o.items.findIndex((s) => (s.status === "sending" && s.written !== conn) || s.again);
  const [note] = o.notes;
  const noteFirst = note !== undefined && (i < 0 || o.items.findIndex((s) => s.id === note.after) < i);
  const sent = noteFirst ? note : o.items[i];
  if (sent === undefined) return { at: 0 };
  const at = Math.max(o.hold, o.gap > 0 ? o.last + o.gap : 0);
  return at > now ? { at } : { sent, at: 0 };
}

/** Records that a message was written to a connection. A message without a reply is done then. */
export function markWritten(o: Outbox, id: MessageID, conn: number, now: number): Outbox {
  if (o.notes.some((n) => n.id === id)) return { ...o, notes: o.notes.filter((n) => n.id !== id), last: now };
  const done = (s: Sent): MessageStatus => (isAnswered(s.type) ? s.status : "done");
  return { ...updateItems(o, (s) => s.id === id, (s) => ({ written: conn, again: false, status: done(s) })), last: now };
}

/** Marks all messages whose reply may be lost for another write. The hub recognizes the id and answers again. */
export function markForResend(o: Outbox): Outbox {
  return updateItems(o, (s) => s.status === "sending" && s.written !== 0, () => ({ again: true }));
}

/** Compares the outbox with a snapshot. Events before the snapshot will not arrive any more. */
export function reconcile(o: Outbox, desktop: DesktopState): Outbox {
  const queued = new Set([...desktop.queues.values()].flat().map((m) => m.id));
  const known = updateItems(o, (s) => s.status === "sending" && s.written !== 0 && wasDone(s, desktop), () => ({ status: "done", again: false }));
  return updateItems(
    known,
    (s) => turns.has(s.type) && !hasEnded(s) && s.status !== "sending",
    (s) => {
      if (s.status === "queued") return queued.has(s.id) ? {} : { again: true };
      return s.agentId !== undefined && desktop.agents.has(s.agentId) ? {} : { status: "ended" };
    },
  );
}

/** Whether the snapshot shows that the hub applied a message whose repetition it does not answer. */
function wasDone(s: Sent, desktop: DesktopState): boolean {
  if (s.type === "CONDENSE") return true;
  if (s.type !== "REWIND") return false;
  const { revision = 0 } = s.data as ClientPayloads["REWIND"];
  return (desktop.monitors.get(monitorOf(s))?.revision ?? 0) !== revision;
}

/** Rejects the message that made the hub close the connection with 1009: the largest one that was written to it. */
export function rejectOversized(o: Outbox, conn: number, code: number, size: (s: Sent) => number): Outbox {
  if (code !== 1009) return o; // other codes cannot be caused by one message: all frames are valid UTF-8 text
  let culprit: Sent | undefined;
  for (const s of o.items) {
    if (s.written === conn && s.status === "sending" && (culprit === undefined || size(s) > size(culprit))) culprit = s;
  }
  return updateItems(o, (s) => s === culprit, () => ({ status: "rejected", code: 1005, reason: "The message is too large." }));
}

/** Rejects all unanswered messages, because no hub can accept them any more. */
export function rejectUnaccepted(o: Outbox, code: number, reason: string): Outbox {
  const rest = o.notes.length === 0 ? o : { ...o, notes: [] };
  return updateItems(rest, (s) => s.status === "sending", () => ({ status: "rejected", again: false, code, reason }));
}

/** Applies an event to the messages it concerns. */
export function applyToOutbox(o: Outbox, e: HubEvent, now: number): Outbox {
  if (e.type === "" || o.items.length === 0) return o;
  if (e.type === "store_status") return e.data.available && o.hold > 0 ? { ...o, hold: 0 } : o;
  if (e.type === "error") return applyError(o, e.data, now);
  const next = updateItems(o, (s) => s.written !== 0 && !hasEnded(s), (s) => statusOf(s, e));
  return next === o || !isAnswer(e) ? next : { ...next, gap: next.gap - next.gap / 64 < minGap ? 0 : next.gap - next.gap / 64 };
}

function isAnswer(e: KnownEvent): boolean {
  return ["MESSAGE_ACCEPTED", "MESSAGE_QUEUED", "MESSAGE_REJECTED", "EMITTED", "DIALOG_CLOSED", "PROMPT_CLOSED"].includes(e.type);
}

function statusOf(s: Sent, e: KnownEvent): Partial<Sent> {
  const mine = "messageId" in e.data && e.data.messageId === s.id;
  if (isToPlan(s) && e.type !== "MESSAGE_REJECTED") return mine || isClosed(s, e) ? { status: "done", again: false } : {};
  switch (e.type) {
    case "MESSAGE_ACCEPTED":
      if (!mine || (s.agentId === e.data.agentId && s.status !== "sending")) return {};
      return { status: e.data.how === "steered" || e.data.how === "ephemeral" ? e.data.how : "accepted", agentId: e.data.agentId, again: false };
    case "MESSAGE_QUEUED":
      return mine && (s.status === "sending" || s.status === "queued") ? { status: "queued", position: e.data.position, again: false } : {};
    case "MESSAGE_REJECTED":
      return mine ? { status: "rejected", code: e.data.code, reason: e.data.reason, ...(e.data.reasonCode ? { reasonCode: e.data.reasonCode } : {}) } : {};
    case "EMITTED":
    case "HISTORY_REWOUND":
    case "CHECKPOINT_RESTORED":
      return mine && !turns.has(s.type) ? { status: "done" } : {};
    case "MESSAGE_REPEATED":
      return mine && (s.type === "REWIND" || s.type === "CONDENSE" || s.type === "RESTORE_CHECKPOINT") ? { status: "done" } : {};
    case "MONITOR_STATUS":
      return s.type === "CONDENSE" && e.data.context?.condensing === true && monitorOf(s) === e.data.monitorId ? { status: "done" } : {};
    case "DIALOG_CLOSED":
      return mine || ("dialogId" in s.data && s.data.dialogId === e.data.dialogId) ? { status: "done" } : {};
    case "PROMPT_CLOSED":
      return mine || ("promptId" in s.data && s.data.promptId === e.data.promptId) ? { status: "done" } : {};
    case "ACTIONS":
      return mine && s.type === "EMIT" ? { status: "done" } : {};
    case "QUEUE_UPDATED": {
      const i = e.data.messages.findIndex((m) => m.id === s.id);
      return s.status === "queued" && i >= 0 ? { position: i + 1 } : {};
    }
    case "AGENT_THINKING":
    case "TOOL_PROGRESS":
      return isTurnOf(s, e.data.agentId) && s.status !== "running" ? { status: "running" } : {};
    case "AGENT_RESPONSE": {
      const p = e.data;
      if (!isTurnOf(s, p.agentId)) return {};
      if (p.isComplete) return { status: p.outcome ?? "completed", ...(p.reason ? { reason: p.reason } : {}) };
      return s.status === "running" ? {} : { status: "running" };
    }
    case "TURN_INTERRUPTED":
      return isTurnOf(s, e.data.agentId) ? { status: "interrupted", reason: e.data.reason } : {};
  }
  return {};
}

/** Whether a message is addressed to the plan. Any event with its id acknowledges it. */
function isToPlan(s: Sent): boolean {
  return s.type.startsWith("hitl_") || s.type.startsWith("control_");
}

/** Whether the event closes the question that the message answers, no matter which tab answered. */
function isClosed(s: Sent, e: KnownEvent): boolean {
  return e.type === "hitl_closed" && "request_id" in s.data && s.data.request_id === e.data.request_id;
}

function monitorOf(s: Sent): MonitorID {
  return ("monitorId" in s.data ? s.data.monitorId : undefined) || firstMonitor;
}

function isTurnOf(s: Sent, agent: AgentID | undefined): boolean {
  return turns.has(s.type) && agent !== undefined && s.agentId === agent;
}

/** Applies an error about a message: rejects it, or schedules a resend. */
function applyError(o: Outbox, p: ErrorNotice, now: number): Outbox {
  const s = o.items.find((i) => i.id === p.messageId && i.written !== 0 && i.status === "sending");
  if (s === undefined) return o;
  const busy = (p.code === 1004 || p.code === 3004) && s.waits < outboxLimits.waits;
  const later = p.suggested_action === "wait" && (busy || p.code === 3007);
  if (!later) return updateItems(o, (i) => i === s, () => ({ status: "rejected", code: p.code, reason: p.message, ...(p.field ? { field: p.field } : {}) }));
  const wait = p.retry_after_ms || Math.min(firstWait * 2 ** Math.min(s.waits, 10), maxWait);
  const next = updateItems(o, (i) => i === s, (i) => ({ again: true, waits: i.waits + 1 }));
  const gap = p.code === 1004 ? Math.min(Math.max(wait, next.gap * 1.5), maxGap) : next.gap;
  return { ...next, hold: Math.max(next.hold, now + wait), gap };
}

/** Updates the matching messages. Returns the same object if nothing changes. */
function updateItems(o: Outbox, which: (s: Sent) => boolean, what: (s: Sent) => Partial<Sent>): Outbox {
  let changed = false;
  const items = o.items.map((s) => {
    const part = which(s) ? what(s) : {};
    if (Object.keys(part).length === 0) return s;
    changed = true;
    return { ...s, ...part };
  });
  return changed ? { ...o, items } : o;
}

/** Serializes the messages that have not ended, in order, for the next page in this tab. */
export function serializeOutbox(o: Outbox): string {
  const notesAfter = (known: (id: MessageID) => boolean): readonly Message[] => o.notes.filter((n) => known(n.after));
  const first = notesAfter((id) => !o.items.some((s) => s.id === id));
  return JSON.stringify([...first, ...o.items.flatMap((s) => [...(hasEnded(s) ? [] : [stored(s)]), ...notesAfter((id) => id === s.id)])]);
}

/** A message as it is stored. Its status is stored as `fate`, the name that older pages write and read. */
function stored({ status, ...rest }: Sent): object {
  return { ...rest, fate: status };
}

/** Restores the outbox of the previous page. Unreadable entries are dropped. */
export function restoreOutbox(text: string | null): Outbox {
  try {
    const list: unknown = JSON.parse(text ?? "[]");
    if (!Array.isArray(list)) return emptyOutbox;
    const items: Sent[] = [];
    const notes: OneWayMessage[] = [];
    for (const m of list.filter(isMessage).slice(-outboxLimits.all)) {
      if (!isFollowed(m.type)) notes.push({ ...m, after: items.at(-1)?.id ?? "" });
      else if (typeof m.fate === "string") {
        const { fate, ...rest } = m;
        items.push({ ...rest, status: fate, written: -1, again: false, waits: 0 });
      }
    }
    return { ...emptyOutbox, items, notes };
  } catch {
    return emptyOutbox;
  }
}

function isMessage(v: unknown): v is Message & Omit<Partial<Sent>, "status"> & { fate?: MessageStatus } {
  if (typeof v !== "object" || v === null) return false;
  const s = v as Record<string, unknown>;
  return typeof s.id === "string" && typeof s.type === "string" && typeof s.data === "object" && s.data !== null;
}
