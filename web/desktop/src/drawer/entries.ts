// The conversation as one list: what the log has, and what was sent and is not in the log yet.
//
// A message has the same key before and after the hub has it, so that nothing jumps when it arrives.

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
import { windowOfRole } from "../dock/agents.js";
import { askedOf } from "./tool.js";

/** Something that a person said. */
export interface MessageEntry {
  readonly kind: "user";
  readonly key: string;
  readonly ts: number;
  readonly monitorId: MonitorID;
  readonly id: MessageID | undefined;
  /** The row has its ts as the name; without one the hub has not answered. */
  readonly row: UIRow | undefined;
  readonly text: string;
  readonly images: readonly string[];
  /** The window it was said to. */
  readonly window: WindowID | undefined;
  /** What became of it, as far as that is known here. */
  readonly status: MessageStatus | undefined;
  /** Its place in the queue, from 1 on. */
  readonly position: number | undefined;
  readonly reason: string | undefined;
  readonly code: number | undefined;
  /** Somebody thought better of it before it was answered. */
  readonly takenBack: boolean;
  /** The message as this tab sent it. */
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

type SaidType = "USER_MESSAGE" | "WINDOW_MESSAGE" | "COMPONENT_ACTION" | "EDIT_MESSAGE";

/**
 * The rows of a monitor, or of all, the oldest first, with what this tab and others have under way. `working` names the
 * windows whose agents work on messages now.
 */
export function entriesOf(
  desktop: Pick<DesktopState, "rows" | "queues">,
  sent: Outbox["items"],
  monitor: MonitorID | undefined,
  working: ReadonlyMap<MessageID, WindowID> = new Map(),
): (MessageEntry | RowEntry)[] {
  const rows = [...desktop.rows.values()].map((r) => r.row).sort((a, b) => a.ts - b.ts);
  const mine = new Map(sent.filter(isSaid).map((s) => [s.id, s]));
  const places = placesOf(desktop.queues);
  const windows = windowsOf(rows, desktop.queues, working);
  const takenBack = takenBackOf(sent);
  const shown = (id: MonitorID): boolean => monitor === undefined || id === monitor;
  const entries: (MessageEntry | RowEntry)[] = [];
  const known = new Set<MessageID>();
  for (const row of rows) {
    const monitorId = row.monitorId || firstMonitor;
    const kind = kindOf(row);
    if (kind === "user") {
      // A message that was said twice under one id, as when a turn goes on, is two rows.
      const first = row.messageId !== undefined && row.messageId !== "" && !known.has(row.messageId);
      if (first) known.add(row.messageId!);
      if (shown(monitorId)) {
        const entry = messageOf(row, first, mine, places, windows);
        const gone = first && entry.status === undefined && takenBack.has(row.messageId!);
        entries.push(gone ? { ...entry, status: "rejected", takenBack: true } : entry);
      }
    } else if (kind !== undefined && shown(monitorId)) {
      entries.push({ kind, key: `r${row.ts}`, ts: row.ts, monitorId, row });
    }
  }
  for (const [monitorId, queue] of desktop.queues) {
    for (const m of queue) {
      if (known.has(m.id) || mine.has(m.id) || !shown(monitorId)) continue;
      known.add(m.id);
      const said = { text: m.text, images: m.images ?? [], window: m.windowId };
      entries.push({ ...blank(m.id, m.timestamp, monitorId), ...said, status: "queued", position: places.get(m.id) });
    }
  }
  // What is being edited is still where it was said, and tells there what becomes of the edit.
  const isEdit = (s: Sent<SaidType>): boolean => s.type === "EDIT_MESSAGE" && desktop.rows.has((s.data as ClientPayloads["EDIT_MESSAGE"]).ts);
  const others = [...mine.values()].filter((s) => !known.has(s.id) && !isEdit(s));
  return [...entries, ...unheard(others, shown)].sort(byEnd);
}

/** What was sent and has no row. While it waits for its answer it is the newest, whatever the clocks say. */
function unheard(mine: readonly Sent<SaidType>[], shown: (id: MonitorID) => boolean): MessageEntry[] {
  const entries: MessageEntry[] = [];
  for (const s of mine) {
    const monitorId = s.data.monitorId || firstMonitor;
    const waits = !hasEnded(s);
    if (!shown(monitorId) || (!waits && s.status !== "rejected")) continue;
    const { status: status, position, reason, code } = s;
    entries.push({ ...blank(s.id, s.since, monitorId), ...contentOf(s), status: status, position, reason, code, sent: s });
  }
  return entries;
}

/** Sorting is stable: what is under way stays behind what is in the log. */
function byEnd(a: MessageEntry | RowEntry, b: MessageEntry | RowEntry): number {
  const open = (e: MessageEntry | RowEntry): boolean => e.kind === "user" && e.row === undefined && e.sent !== undefined && e.status !== "rejected";
  if (open(a) !== open(b)) return open(a) ? 1 : -1;
  return open(a) ? 0 : a.ts - b.ts;
}

function blank(id: MessageID, ts: number, monitorId: MonitorID): MessageEntry {
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
    takenBack: false,
    sent: undefined,
  };
}

function messageOf(
  row: UIRow,
  first: boolean,
  mine: ReadonlyMap<MessageID, Sent<SaidType>>,
  places: ReadonlyMap<MessageID, number>,
  windows: ReadonlyMap<MessageID, WindowID>,
): MessageEntry {
  const id = row.messageId ?? "";
  const sent = first ? mine.get(id) : undefined;
  const place = first ? places.get(id) : undefined;
  // Another tab of mine, or somebody else, has said what we did not.
  const status = sent?.status ?? (place === undefined ? undefined : "queued");
  const no = first ? refusalIn(row) : undefined;
  return {
    ...blank(id, row.ts, row.monitorId || firstMonitor),
    key: first ? `m${id}` : `r${row.ts}`,
    id: id === "" ? undefined : id,
    row,
    text: row.text ?? "",
    images: row.images ?? [],
    window: (sent !== undefined && "windowId" in sent.data ? sent.data.windowId : undefined) ?? (row.windowId || windows.get(id)),
    // The queue itself is newer than what was said of it.
    status: no !== undefined ? "rejected" : status !== undefined && status !== "sending" && place !== undefined ? "queued" : status,
    position: place ?? sent?.position,
    reason: sent?.reason ?? no?.reason,
    code: sent?.code,
    takenBack: no?.takenBack === true,
    sent,
  };
}

/** What a row says of why nobody answers it. Who sent it was told so, others and later ones have the row alone. */
function refusalIn(row: UIRow): { takenBack: boolean; reason: string | undefined } | undefined {
  const { icon, text } = row.progressStatus ?? {};
  return icon === "discard" || icon === "circle-slash" ? { takenBack: icon === "discard", reason: text } : undefined;
}

/** Whether something that was sent has to do with messages; most of it is windows that are moved. */
export function isAboutMessages(s: Sent): boolean {
  return isSaid(s) || s.type === "DELETE_QUEUED_MESSAGE";
}

function isSaid(s: Sent): s is Sent<SaidType> {
  return s.type === "USER_MESSAGE" || s.type === "WINDOW_MESSAGE" || s.type === "COMPONENT_ACTION" || s.type === "EDIT_MESSAGE";
}

/** What a message says, in the words that the hub will use for it. */
function contentOf(s: Sent<SaidType>): Pick<MessageEntry, "text" | "images" | "window"> {
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

function placesOf(queues: DesktopState["queues"]): Map<MessageID, number> {
  const places = new Map<MessageID, number>();
  for (const queue of queues.values()) queue.forEach((m, i) => places.set(m.id, i + 1));
  return places;
}

/** The windows that messages were said to, as far as queues, agents and their answers tell. */
function windowsOf(rows: readonly UIRow[], queues: DesktopState["queues"], working: ReadonlyMap<MessageID, WindowID>): Map<MessageID, WindowID> {
  const windows = new Map(working);
  for (const row of rows) {
    const window = windowOfRole(row.agentId);
    if (window !== undefined && row.messageId) windows.set(row.messageId, window);
  }
  for (const m of [...queues.values()].flat()) if (m.windowId) windows.set(m.id, m.windowId);
  return windows;
}

/** What this tab took back of what others sent. The hub tells only them that it will not be answered. */
function takenBackOf(sent: Outbox["items"]): Set<MessageID> {
  const ids = sent.flatMap((s) => (s.type === "DELETE_QUEUED_MESSAGE" ? [(s.data as ClientPayloads["DELETE_QUEUED_MESSAGE"]).messageId] : []));
  return new Set(ids);
}

/** What a row is; undefined when there is nothing in it to be shown. */
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

/** A question that is open and has a card is there once, as the card. */
function kindOfAsk(row: UIRow): RowKind | undefined {
  if (row.ask === "resume_task") return "resume";
  const { card } = askedOf(row);
  if (card) return row.isAnswered === true ? "asked" : undefined;
  return row.text ? "note" : undefined;
}

/** Puts the days between entries of different days. */
export function withDays(entries: readonly (MessageEntry | RowEntry)[], dayOf: (ts: number) => string): Entry[] {
  const all: Entry[] = [];
  let day = "";
  for (const e of entries) {
    const its = dayOf(e.ts);
    if (its !== day) all.push({ kind: "day", key: `d${its}`, ts: e.ts });
    day = its;
    all.push(e);
  }
  return all;
}

/** Whether two entries look the same. The rows in them are compared by reference. */
export function sameEntry(a: Entry, b: Entry): boolean {
  const one = a as unknown as Record<string, unknown>;
  const other = b as unknown as Record<string, unknown>;
  return Object.keys(one).every((k) => one[k] === other[k] || (k === "images" && one.row !== undefined && one.row === other.row));
}

/** What an agent thinks or says now, without what the rows have of it already. */
export function notInRows(text: string, rows: readonly string[]): string {
  let rest = text;
  for (const row of rows) {
    const said = row.replace(/ \[…\]$/, "");
    const at = rest.indexOf(said);
    if (said !== "" && at >= 0) rest = rest.slice(at + said.length);
  }
  return rest.trim();
}
