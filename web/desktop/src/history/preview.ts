// What a rewind takes away, as far as the rows that a tab has can tell. The rule is the hub's; it knows the messages of the
// models as well, and says what has become of the rows when it is done.

import type { MessageID, UIRow } from "../../../core/src/index.js";
import { kindOf } from "../drawer/entries.js";
import { aboutOf, toolOf } from "../drawer/tool.js";
import type { ToolAction } from "../drawer/tool-actions.js";

export interface Preview {
  /** The rows that go and that a person can see, the oldest first. */
  readonly going: readonly UIRow[];
  /** Later rows that stay: they belong to an answer that was being given when the target was said. */
  readonly staying: readonly UIRow[];
  readonly messages: number;
  readonly answers: number;
  readonly tools: number;
  /** Messages that wait and are taken back. */
  readonly waiting: number;
  /** How often a model's history was summed up or shortened, and is whole again afterwards. */
  readonly condensed: number;
  readonly truncated: number;
}

/** What goes of a monitor's rows with one of them. `queued` are the messages that wait. */
export function previewOf(rows: readonly UIRow[], target: UIRow, queued: ReadonlySet<MessageID>): Preview {
  const from = idOf(target);
  const later = rows.filter((r) => idOf(r) > from).sort((a, b) => idOf(a) - idOf(b));
  const cut = cutOf(target, later, queued);
  const stays = (row: UIRow): boolean => cut !== undefined && belongsBefore(row, cut, later);
  const going = [target, ...later.filter((r) => !stays(r))].filter((r) => kindOf(r) !== undefined);
  const count = (...kinds: (string | undefined)[]): number => going.filter((r) => kinds.includes(kindOf(r))).length;
  return {
    going,
    staying: later.filter((r) => stays(r) && kindOf(r) !== undefined),
    messages: count("user"),
    answers: count("assistant", "subtask"),
    tools: count("tool"),
    waiting: going.filter((r) => kindOf(r) === "user" && queued.has(r.messageId ?? "")).length,
    condensed: count("condensed"),
    truncated: count("truncated"),
  };
}

function idOf(row: UIRow): number {
  return row.id ?? 0;
}

/** A place in a thread: what comes before it stays. */
interface Cut {
  readonly thread: string;
  readonly before: number;
}

/**
 * Where the message of the target lies in its thread; undefined if it is in none, as when it waits. The rows of its own
 * turn tell. One that has none was given to a turn that ran: behind the answer that was being given then.
 */
function cutOf(target: UIRow, later: readonly UIRow[], queued: ReadonlySet<MessageID>): Cut | undefined {
  const { thread, messageId = "", conversationHistoryIndex: at = 0 } = target;
  if (kindOf(target) !== "user" || !thread || queued.has(messageId) || target.progressStatus !== undefined) return undefined;
  const own = messageId === "" ? [] : later.filter((r) => r.thread === thread && r.messageId === messageId && r.say !== "user_feedback");
  const first = own.reduce((least, r) => Math.min(least, r.conversationHistoryIndex ?? Infinity), Infinity);
  // The ids of messages go up in steps of two.
  return { thread, before: first === Infinity ? at + 3 : first };
}

function belongsBefore(row: UIRow, cut: Cut, later: readonly UIRow[]): boolean {
  if (row.contextCondense !== undefined || row.contextTruncation !== undefined) return false;
  if (row.say !== "user_feedback") return row.thread === cut.thread && (row.conversationHistoryIndex ?? Infinity) < cut.before;
  return later.some((r) => r.say !== "user_feedback" && r.messageId === row.messageId && row.messageId !== undefined && belongsBefore(r, cut, later));
}

/** The first line of a row, for a list of them. `tell` has the words for what tools of the hub did. */
export function lineOf(row: UIRow, tell: (told: ToolAction) => string): string {
  switch (kindOf(row)) {
    case "tool": {
      const { tool, about, action: told, failed } = toolOf(row);
      return told === undefined || failed ? `${tool} ${about}`.trim() : tell(told);
    }
    default:
      return aboutOf((row.text ?? "").trim().split("\n", 1)[0]!);
  }
}

/** The rows that are worth a line in a list: what was said and done. */
export function worthLines(rows: readonly UIRow[]): UIRow[] {
  return rows.filter((r) => ["user", "assistant", "subtask", "tool", "condensed", "truncated"].includes(kindOf(r) ?? ""));
}
