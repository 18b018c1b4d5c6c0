// Earlier messages of the user, recalled with the arrow keys.

import type { DesktopState, Outbox } from "../../../core/src/index.js";
import { gesturesIn } from "../shell/gesture.js";

const maxHistory = 100;

/** The messages typed in this session, oldest first, without duplicates and without button and icon presses. */
export function typedBefore(rows: DesktopState["rows"], sent: Outbox["items"]): string[] {
  const messages: { at: number; text: string }[] = [];
  const known = new Set<string>();
  const toWindows = new Set<string>();
  for (const { row } of rows.values()) if (row.agentId?.startsWith("window-") && row.messageId) toWindows.add(row.messageId);
  for (const { row } of rows.values()) {
    if (row.say !== "user_feedback" || !row.text || toWindows.has(row.messageId ?? "") || gesturesIn(row.text)) continue;
    messages.push({ at: row.ts, text: row.text });
    if (row.messageId) known.add(row.messageId);
  }
  for (const s of sent) {
    if (s.type !== "USER_MESSAGE" || known.has(s.id) || !("content" in s.data) || gesturesIn(s.data.content)) continue;
    messages.push({ at: s.since, text: s.data.content });
  }
  messages.sort((a, b) => a.at - b.at);
  const texts = messages.map((s) => s.text).filter((t) => t.trim() !== "");
  return texts.filter((t, i) => texts.lastIndexOf(t) === i).slice(-maxHistory);
}

/** The place in the history: the distance from its end, and the draft before browsing. */
export interface Browsing {
  readonly back: number;
  readonly draft: string;
}

export const notBrowsing: Browsing = { back: 0, draft: "" };

/** One step through the history; undefined at its end. */
export function browse(
  history: readonly string[],
  at: Browsing,
  step: "older" | "newer",
  text: string,
): { at: Browsing; text: string } | undefined {
  const back = at.back + (step === "older" ? 1 : -1);
  if (back < 0 || back > history.length) return undefined;
  const draft = at.back === 0 ? text : at.draft;
  return back === 0 ? { at: notBrowsing, text: draft } : { at: { back, draft }, text: history[history.length - back]! };
}
