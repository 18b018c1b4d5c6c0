// The conversation as one list: the rows of the log, and sent messages that are not in the log yet.
//
// A message has the same key before and after it is in the log, so that its row does not move when it arrives.

import {
  type ClientPayloads,
  type DesktopState,
  firstMonitor,
  hasEnded,
  type MessageID,
  type MessageStatus,
  type MonitorID,
  type Outbox,
  type Sent,
  type UIRow,
  type WindowID,
} from "../../../core/src/index.js";
import { kindOfRole, windowOfRole } from "../dock/agents.js";
import { checkpointOf } from "../history/checkpoint.js";
import { parseQuestion, parseTurnEnd } from "./tool.js";

/** A message of a user. */
export interface MessageEntry {
  readonly kind: "user";
  readonly key: string;
  readonly ts: number;
  readonly monitorId: MonitorID;
  readonly id: MessageID | undefined;
  /** The row in the log; undefined until the hub has committed the message. */
  readonly row: UIRow | undefined;
  readonly text: string;
  readonly images: readonly string[];
  /** The window that the message was sent to. */
  readonly window: WindowID | undefined;
  /** The status, as far as this tab knows it. */
  readonly status: MessageStatus | undefined;
  /** The position in the queue, from 1. */
  readonly position: number | undefined;
  readonly reason: string | undefined;
  readonly code: number | undefined;
  /** Whether a user withdrew it before it was answered. */
  readonly withdrawn: boolean;
  /** The message in the outbox of this tab. */
  readonly sent: Sent | undefined;
}

export type RowKind =
  | "assistant"
  | "subtask"
  | "thinking"
  | "tool"
  | "error"
  | "result"
  | "retry"
  | "resume"
  | "asked"
  | "condensed"
  | "condenseFailed"
  | "truncated"
  | "note";

export interface RowEntry {
  readonly kind: RowKind;
  readonly key: string;
  readonly ts: number;
  readonly monitorId: MonitorID;
  readonly row: UIRow;
}

export interface DayEntry {
  readonly kind: "day";
  readonly key: string;
  readonly ts: number;
}

export type Entry = MessageEntry | RowEntry | DayEntry;

type MessageType = "USER_MESSAGE" | "WINDOW_MESSAGE" | "COMPONENT_ACTION" | "EDIT_MESSAGE";

/**
 * The entries of a monitor, or of all, the oldest first: rows, queued messages, and messages of this tab that are under
 * way. `working` maps the messages that window agents work on to their windows.
 */
export function entriesOf(
  desktop: Pick<DesktopState, "rows" | "queues">,
  sent: Outbox["items"],
  monitor: MonitorID | undefined,
  working: ReadonlyMap<MessageID, WindowID> = new Map(),
): (MessageEntry | RowEntry)[] {
  const rows = [...desktop.rows.values()].map((r) => r.row).sort((a, b) => a.ts - b.ts);
  const own = new Map(sent.filter(isMessage).map((s) => [s.id, s]));
  const places = queuePositions(desktop.queues);
  const windows = messageWindows(rows, desktop.queues, working);
  const takenBack = withdrawnMessages(sent);
  const shown = (id: MonitorID): boolean => monitor === undefined || id === monitor;
  const entries: (MessageEntry | RowEntry)[] = [];
  const known = new Set<MessageID>();
  for (const row of rows) {
    const monitorId = row.monitorId || firstMonitor;
    const kind = kindOf(row);
    if (kind === "user") {
      // A message that is repeated under one id, as when a turn resumes, has several rows.
      const first = row.messageId !== undefined && row.messageId !== "" && !known.has(row.messageId);
      if (first) known.add(row.messageId!);
      if (shown(monitorId)) {
        const entry = messageEntry(row, first, own, places, windows);
        const withdrawn = first && entry.status === undefined && takenBack.has(row.messageId!);
        entries.push(withdrawn ? { ...entry, status: "rejected", withdrawn: true } : entry);
      }
    } else if (kind !== undefined && shown(monitorId)) {
      entries.push({ kind, key: `r${row.ts}`, ts: row.ts, monitorId, row });
    }
  }
  for (const [monitorId, queue] of desktop.queues) {
    for (const m of queue) {
      if (known.has(m.id) || own.has(m.id) || !shown(monitorId)) continue;
      known.add(m.id);
      const content = { text: m.text, images: m.images ?? [], window: m.windowId };
      entries.push({ ...emptyMessage(m.id, m.timestamp, monitorId), ...content, status: "queued", position: places.get(m.id) });
    }
  }
  // A message that is being edited keeps its row, which shows the status of the edit.
  const isEdit = (s: Sent<MessageType>): boolean => s.type === "EDIT_MESSAGE" && desktop.rows.has((s.data as ClientPayloads["EDIT_MESSAGE"]).ts);
  const others = [...own.values()].filter((s) => !known.has(s.id) && !isEdit(s));
  return [...withoutEmptyTurns(entries), ...pendingMessages(others, shown)].sort(compareEntries);
}

/** A turn that ends sooner than this and shows nothing has no line, in ms. */
const emptyTurn = 1000;

/** Leaves out the ends of turns that showed nothing, and those of tasks, whose result is shown. */
function withoutEmptyTurns(entries: readonly (MessageEntry | RowEntry)[]): (MessageEntry | RowEntry)[] {
  const spoke = new Set<string>();
  return entries.filter((e) => {
    if (e.kind === "user") return true;
    const agent = e.row.agentId ?? "";
    if (e.kind !== "result") {
      spoke.add(agent);
      return true;
    }
    const silent = !spoke.delete(agent);
    const { outcome, durationMs } = parseTurnEnd(e.row);
    if (outcome !== "completed") return true;
    return !(silent && durationMs < emptyTurn) && kindOfRole(agent) !== "task";
  });
}

/** The sent messages without a row. Until they end they are the newest, whatever the clocks say. */
function pendingMessages(own: readonly Sent<MessageType>[], shown: (id: MonitorID) => boolean): MessageEntry[] {
  const entries: MessageEntry[] = [];
  for (const s of own) {
    const monitorId = s.data.monitorId || firstMonitor;
    const pending = !hasEnded(s);
    if (!shown(monitorId) || (!pending && s.status !== "rejected")) continue;
    const { status, position, reason, code } = s;
    entries.push({ ...emptyMessage(s.id, s.since, monitorId), ...contentOf(s), status, position, reason, code, sent: s });
  }
  return entries;
}

/** Sorts pending messages behind the log. Sorting is stable, so they keep their order. */
function compareEntries(a: MessageEntry | RowEntry, b: MessageEntry | RowEntry): number {
  const pending = (e: MessageEntry | RowEntry): boolean => e.kind === "user" && e.row === undefined && e.sent !== undefined && e.status !== "rejected";
  if (pending(a) !== pending(b)) return pending(a) ? 1 : -1;
  return pending(a) ? 0 : a.ts - b.ts;
}

function emptyMessage(id: MessageID, ts: number, monitorId: MonitorID): MessageEntry {
  return {
    kind: "user",
    key: `m${id}`,
    ts,
    monitorId,
    id,
    row: undefined,
    text: "",
    images: [],
    window: undefined,
    status: undefined,
    position: undefined,
    reason: undefined,
    code: undefined,
    withdrawn: false,
    sent: undefined,
  };
}

function messageEntry(
  row: UIRow,
  first: boolean,
  own: ReadonlyMap<MessageID, Sent<MessageType>>,
  places: ReadonlyMap<MessageID, number>,
  windows: ReadonlyMap<MessageID, WindowID>,
): MessageEntry {
  const id = row.messageId ?? "";
  const sent = first ? own.get(id) : undefined;
  const place = first ? places.get(id) : undefined;
  // A message that this tab did not send is known only by the queue.
  const status = sent?.status ?? (place === undefined ? undefined : "queued");
  const rejection = first ? rejectionIn(row) : undefined;
  return {
    ...emptyMessage(id, row.ts, row.monitorId || firstMonitor),
    key: first ? `m${id}` : `r${row.ts}`,
    id: id === "" ? undefined : id,
    row,
    text: row.text ?? "",
    images: row.images ?? [],
    window: (sent !== undefined && "windowId" in sent.data ? sent.data.windowId : undefined) ?? (row.windowId || windows.get(id)),
    // The queue is newer than the status of the message.
    status: rejection !== undefined ? "rejected" : status !== undefined && status !== "sending" && place !== undefined ? "queued" : status,
    position: place ?? sent?.position,
    reason: sent?.reason ?? rejection?.reason,
    code: sent?.code,
    withdrawn: rejection?.takenBack === true,
    sent,
  };
}

/**
 * Why the message of a row will not be answered. Only the sender gets an error; other and later tabs read it from the
 * row.
 */
function rejectionIn(row: UIRow): { takenBack: boolean; reason: string | undefined } | undefined {
  const { icon, text } = row.progressStatus ?? {};
  return icon === "discard" || icon === "circle-slash" ? { takenBack: icon === "discard", reason: text } : undefined;
}

/** Whether a sent command concerns messages; most others move windows. */
export function isAboutMessages(s: Sent): boolean {
  return isMessage(s) || s.type === "DELETE_QUEUED_MESSAGE";
}

function isMessage(s: Sent): s is Sent<MessageType> {
  return s.type === "USER_MESSAGE" || s.type === "WINDOW_MESSAGE" || s.type === "COMPONENT_ACTION" || s.type === "EDIT_MESSAGE";
}

/** The content of a sent message, as the hub will write it into the row. */
function contentOf(s: Sent<MessageType>): Pick<MessageEntry, "text" | "images" | "window"> {
  if (s.type === "USER_MESSAGE") {
    const data = s.data as ClientPayloads["USER_MESSAGE"];
    const images = (data.interactions ?? []).flatMap((i) => (i.imageData ? [i.imageData] : []));
    return { text: data.content, images, window: undefined };
  }
  if (s.type === "WINDOW_MESSAGE") {
    const data = s.data as ClientPayloads["WINDOW_MESSAGE"];
    return { text: data.content, images: [], window: data.windowId };
  }
  if (s.type === "EDIT_MESSAGE") {
    const data = s.data as ClientPayloads["EDIT_MESSAGE"];
    return { text: data.text, images: data.images ?? [], window: undefined };
  }
  const data = s.data as ClientPayloads["COMPONENT_ACTION"];
  const label = /Button:(.*)$/s.exec(data.componentPath?.at(-1) ?? "")?.[1]?.trim().replace(/\s+/g, " ");
  return { text: `${label || data.action} (${data.windowTitle || data.windowId})`, images: [], window: data.windowId };
}

function queuePositions(queues: DesktopState["queues"]): Map<MessageID, number> {
  const places = new Map<MessageID, number>();
  for (const queue of queues.values()) queue.forEach((m, i) => places.set(m.id, i + 1));
  return places;
}

/** The windows that messages were sent to, as far as queues, agents and answers reveal them. */
function messageWindows(rows: readonly UIRow[], queues: DesktopState["queues"], working: ReadonlyMap<MessageID, WindowID>): Map<MessageID, WindowID> {
  const windows = new Map(working);
  for (const row of rows) {
    const window = windowOfRole(row.agentId);
    if (window !== undefined && row.messageId) windows.set(row.messageId, window);
  }
  for (const m of [...queues.values()].flat()) if (m.windowId) windows.set(m.id, m.windowId);
  return windows;
}

/** The messages of other tabs that this tab withdrew. The hub reports the end of a message only to its sender. */
function withdrawnMessages(sent: Outbox["items"]): Set<MessageID> {
  const ids = sent.flatMap((s) => (s.type === "DELETE_QUEUED_MESSAGE" ? [(s.data as ClientPayloads["DELETE_QUEUED_MESSAGE"]).messageId] : []));
  return new Set(ids);
}

/** The kind of a row; undefined if it shows nothing. */
export function kindOf(row: UIRow): RowKind | "user" | undefined {
  if (row.type === "ask") return kindOfAsk(row);
  switch (row.say) {
    case "condense_context":
      return "condensed";
    case "condense_context_error":
      return "condenseFailed";
    case "sliding_window_truncation":
      return "truncated";
    case "user_feedback":
      return "user";
    case "text":
    case "completion_result":
      return row.text ? "assistant" : undefined;
    case "subtask_result":
      return "subtask";
    case "reasoning":
      return row.text || row.reasoning ? "thinking" : undefined;
    case "tool":
      return "tool";
    case "error":
      return "error";
    case "checkpoint_saved": {
      const c = checkpointOf(row);
      return row.text && (c === undefined || c.restored === true) ? "note" : undefined;
    }
    case "api_req_finished":
      return "result";
    case "api_req_retried":
    case "api_req_retry_delayed":
    case "api_req_rate_limit_wait":
      return "retry";
    default:
      return row.text ? "note" : undefined;
  }
}

/** An open question that has a card is shown only as the card. */
function kindOfAsk(row: UIRow): RowKind | undefined {
  if (row.ask === "resume_task") return "resume";
  const { card } = parseQuestion(row);
  if (card) return row.isAnswered === true ? "asked" : undefined;
  return row.text ? "note" : undefined;
}

/** Inserts a day entry before the first entry of each day. */
export function withDays(entries: readonly (MessageEntry | RowEntry)[], dayOf: (ts: number) => string): Entry[] {
  const all: Entry[] = [];
  let day = "";
  for (const e of entries) {
    const entryDay = dayOf(e.ts);
    if (entryDay !== day) all.push({ kind: "day", key: `d${entryDay}`, ts: e.ts });
    day = entryDay;
    all.push(e);
  }
  return all;
}

/** Whether two entries look the same. Their rows are compared by reference. */
export function sameEntry(a: Entry, b: Entry): boolean {
  const one = a as unknown as Record<string, unknown>;
  const other = b as unknown as Record<string, unknown>;
  return Object.keys(one).every((k) => one[k] === other[k] || (k === "images" && one.row !== undefined && one.row === other.row));
}

/** The part of an agent's thinking or text that is not in its rows yet. */
export function notInRows(text: string, rows: readonly string[]): string {
  let rest = text;
  for (const row of rows) {
    const shown = row.replace(/ \[…\]$/, "");
    const at = rest.indexOf(shown);
    if (shown !== "" && at >= 0) rest = rest.slice(at + shown.length);
  }
  return rest.trim();
}
