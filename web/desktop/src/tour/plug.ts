// The step of the tour that kills the hub while an answer streams: the words of the answer, and the progress of the step.
// Pure.

import { type DesktopState, hasEnded, type MessageID, type Outbox } from "../../../core/src/index.js";
import type { Language } from "../i18n/texts.js";

/** The message of the step; the demo provider answers it with a text that announces its number of words. */
export const plugRequest: Record<Language, string> = {
  en: "Write a long answer while I pull the plug",
  ko: "전원을 뽑는 동안 긴 답을 써 줘",
};

/** The part of the answer after which the hub is killed. */
const killAt = 0.4;

/** The words of an answer: how many the demo announced, and how many this tab has. */
export interface Words {
  readonly announced: number;
  readonly received: number;
}

/** The text that this tab has of the answer to a message. While its agent works, that has the whole text; then it is in rows. */
export function answerTo(desktop: Pick<DesktopState, "agents" | "rows">, id: MessageID): string {
  for (const a of desktop.agents.values()) if (a.messageId === id) return a.text;
  return [...desktop.rows.values()]
    .filter(({ row }) => row.messageId === id && row.say === "text" && row.agentId)
    .sort((a, b) => a.row.ts - b.row.ts)
    .map(({ row }) => row.text ?? "")
    .join("\n");
}

/** Counts the words after the first line, which announces their number; undefined until that line is complete. */
export function countWords(text: string): Words | undefined {
  const end = text.indexOf("\n");
  const announced = end < 0 ? null : /\d+/.exec(text.slice(0, end));
  if (announced === null) return undefined;
  return { announced: Number(announced[0]), received: text.slice(end).split(/\s+/).filter((w) => w !== "").length };
}

/**
 * The phases of the step: the answer is written, the hub is asked to die, it is dead, it is back and the answer goes on, the
 * answer is complete. A step whose answer ends before the hub died has failed.
 */
export type PlugPhase = "writing" | "killing" | "down" | "back" | "done" | "failed";

export interface PlugRun {
  readonly message: MessageID;
  readonly phase: PlugPhase;
  /** The connection that the kill ends. */
  readonly conn: number;
  /** When the connection was lost and when there was another one; 0 before. */
  readonly lostAt: number;
  readonly backAt: number;
}

export function beginPlug(message: MessageID): PlugRun {
  return { message, phase: "writing", conn: 0, lostAt: 0, backAt: 0 };
}

/** What the page sees of the hub and of the answer. */
export interface PlugView {
  readonly live: boolean;
  readonly conn: number;
  readonly words: Words | undefined;
  readonly ended: boolean;
  readonly now: number;
}

/** Whether the answer to a message is complete in this tab. */
export function answerEnded(outbox: Pick<Outbox, "items">, desktop: Pick<DesktopState, "agents">, id: MessageID): boolean {
  const sent = outbox.items.find((s) => s.id === id);
  return sent !== undefined && hasEnded(sent) && ![...desktop.agents.values()].some((a) => a.messageId === id);
}

/** The next state of the step; the same object while nothing has changed. */
export function advancePlug(run: PlugRun, v: PlugView): PlugRun {
  switch (run.phase) {
    case "writing":
      if (v.ended) return { ...run, phase: "failed" };
      return v.live && v.words !== undefined && v.words.received >= v.words.announced * killAt ? { ...run, phase: "killing", conn: v.conn } : run;
    case "killing":
      if (!v.live || v.conn !== run.conn) return { ...run, phase: "down", lostAt: v.now };
      return v.ended ? { ...run, phase: "failed" } : run;
    case "down":
      return v.live && v.conn !== run.conn ? { ...run, phase: "back", backAt: v.now } : run;
    case "back":
      return v.live && v.ended ? { ...run, phase: "done" } : run;
    default:
      return run;
  }
}
