// Predicts what a rewind removes, from the rows that this tab has. The rule is the hub's; the hub also knows the
// messages of the model, and reports the result.

import type { MessageID, UIRow } from "../../../core/src/index.js";
import { kindOf } from "../drawer/entries.js";
import { parseToolCall, summarizeInput } from "../drawer/tool.js";
import type { ToolAction } from "../drawer/tool-actions.js";

export interface Preview {
  /** The visible rows that are removed, the oldest first. */
  readonly removed: readonly UIRow[];
  /** Later rows that remain: they belong to an answer that was running when the target was sent. */
  readonly remaining: readonly UIRow[];
  readonly messages: number;
  readonly answers: number;
  readonly tools: number;
  /** The number of queued messages that are withdrawn. */
  readonly queued: number;
  /** The number of condensed and truncated histories that are restored. */
  readonly condensed: number;
  readonly truncated: number;
}

/** Predicts what rewinding to a row of a monitor removes. `queued` are the queued messages. */
export function previewOf(rows: readonly UIRow[], target: UIRow, queued: ReadonlySet<MessageID>): Preview {
  const from = idOf(target);
  const later = rows.filter((r) => idOf(r) > from).sort((a, b) => idOf(a) - idOf(b));
  const cut = cutPoint(target, later, queued);
  const remains = (row: UIRow): boolean => cut !== undefined && belongsBefore(row, cut, later);
  const going = [target, ...later.filter((r) => !remains(r))].filter((r) => kindOf(r) !== undefined);
  const count = (...kinds: (string | undefined)[]): number => going.filter((r) => kinds.includes(kindOf(r))).length;
  return {
    removed: going,
    remaining: later.filter((r) => remains(r) && kindOf(r) !== undefined),
    messages: count("user"),
    answers: count("assistant", "subtask"),
    tools: count("tool"),
    queued: going.filter((r) => kindOf(r) === "user" && queued.has(r.messageId ?? "")).length,
    condensed: count("condensed"),
    truncated: count("truncated"),
  };
}

function idOf(row: UIRow): number {
  return row.id ?? 0;
}

/** A position in a thread: the messages before it remain. */
interface Cut {
  readonly thread: string;
  readonly before: number;
}

/**
 * The position of the target's message in its thread; undefined if it is in none, as while it is queued. It is that of
 * the first row of its own turn. A message without such rows was steered into a running turn: its position is after the
 * answer of that time.
 */
function cutPoint(target: UIRow, later: readonly UIRow[], queued: ReadonlySet<MessageID>): Cut | undefined {
  const { thread, messageId = "", conversationHistoryIndex: at = 0 } = target;
  if (kindOf(target) !== "user" || !thread || queued.has(messageId) || target.progressStatus !== undefined) return undefined;
  const own = messageId === "" ? [] : later.filter((r) => r.thread === thread && r.messageId === messageId && r.say !== "user_feedback");
  const first = own.reduce((least, r) => Math.min(least, r.conversationHistoryIndex ?? Infinity), Infinity);
  // The ids of messages increase in steps of two.
  return { thread, before: first === Infinity ? at + 3 : first };
}

function belongsBefore(row: UIRow, cut: Cut, later: readonly UIRow[]): boolean {
  if (row.contextCondense !== undefined || row.contextTruncation !== undefined) return false;
  if (row.say !== "user_feedback") return row.thread === cut.thread && (row.conversationHistoryIndex ?? Infinity) < cut.before;
  return later.some((r) => r.say !== "user_feedback" && r.messageId === row.messageId && row.messageId !== undefined && belongsBefore(r, cut, later));
}

/** The first line of a row, for a list. `describe` puts actions of tools into words. */
export function lineOf(row: UIRow, describe: (action: ToolAction, failed: boolean) => string): string {
  switch (kindOf(row)) {
    case "tool": {
      const { about, action, failed } = parseToolCall(row);
      if (action === undefined) return about;
      return action.kind === "used" ? `${describe(action, failed)} ${about}`.trim() : describe(action, failed);
    }
    default:
      return summarizeInput((row.text ?? "").trim().split("\n", 1)[0]!);
  }
}

/** The rows that a list shows: messages, answers, tool calls and changes of the model history. */
export function listedRows(rows: readonly UIRow[]): UIRow[] {
  return rows.filter((r) => ["user", "assistant", "subtask", "tool", "condensed", "truncated"].includes(kindOf(r) ?? ""));
}
