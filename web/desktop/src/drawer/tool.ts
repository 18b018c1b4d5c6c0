// Parses the rows about tools, ends of turns and errors. The hub writes their texts as JSON; other texts are shown as
// they are.

import type { UIRow } from "../../../core/src/index.js";
import { type ToolAction, toolActionOf } from "./tool-actions.js";

export interface ToolCall {
  readonly tool: string;
  readonly failed: boolean;
  /** A summary of the input in one line; may be empty. */
  readonly about: string;
  /** What the call does; undefined for rows that are not calls. */
  readonly action: ToolAction | undefined;
  readonly input: string;
  readonly result: string;
  readonly durationMs: number | undefined;
}

export interface TurnEnd {
  readonly outcome: "completed" | "failed" | "interrupted";
  readonly durationMs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cached: number;
  readonly costUsd: number;
  readonly costUnknown: boolean;
  readonly reason: string;
}

function parseObject(text: string | undefined): Record<string, unknown> {
  try {
    const v: unknown = JSON.parse(text ?? "");
    return typeof v === "object" && v !== null && !Array.isArray(v) ? (v as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function numberOr0(v: unknown): number {
  return typeof v === "number" && Number.isFinite(v) ? v : 0;
}

export function parseToolCall(row: UIRow): ToolCall {
  const v = parseObject(row.text);
  if (typeof v.tool !== "string") {
    return { tool: "", failed: false, about: oneLine(row.text ?? ""), action: undefined, input: "", result: row.text ?? "", durationMs: undefined };
  }
  return {
    tool: v.tool,
    failed: v.status === "error",
    about: summarizeInput(v.input),
    action: toolActionOf(v.tool, v.input, typeof v.title === "string" ? v.title : ""),
    input: pretty(v.input),
    result: typeof v.result === "string" ? prettyText(v.result) : pretty(v.result),
    durationMs: typeof v.durationMs === "number" ? v.durationMs : undefined,
  };
}

/** The fields that describe a call best, the best first. */
const descriptiveFields = ["title", "objective", "path", "url", "query", "command", "message", "content", "windowId", "name", "key", "id"];

/** A summary of a call's input, in one line. */
export function summarizeInput(input: unknown): string {
  if (typeof input === "string") return oneLine(input);
  if (typeof input !== "object" || input === null) return "";
  const fields = input as Record<string, unknown>;
  for (const name of descriptiveFields) {
    const v = fields[name];
    if (typeof v === "string" && v.trim() !== "") return oneLine(v);
  }
  const first = Object.values(fields).find((v) => typeof v === "string" && v !== "");
  return oneLine((first as string | undefined) ?? "");
}

function oneLine(text: string): string {
  const one = text.replace(/\s+/g, " ").trim();
  return one.length > 160 ? `${one.slice(0, 159)}…` : one;
}

function pretty(v: unknown): string {
  if (v === undefined) return "";
  return typeof v === "string" ? v : JSON.stringify(v, null, 2);
}

/** Formats JSON on several lines; other texts stay as they are. */
function prettyText(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export function parseTurnEnd(row: UIRow): TurnEnd {
  const v = parseObject(row.text);
  return {
    outcome: v.outcome === "failed" || v.outcome === "interrupted" ? v.outcome : "completed",
    durationMs: numberOr0(v.durationMs),
    inputTokens: numberOr0(v.inputTokens),
    outputTokens: numberOr0(v.outputTokens),
    cached: numberOr0(v.cacheReads),
    costUsd: numberOr0(v.costUsd),
    costUnknown: v.costUnknown === true,
    reason: typeof v.reason === "string" ? v.reason : "",
  };
}

export interface AskedQuestion {
  /** Whether the question is or was a dialog or a prompt, which have cards, or was answered by approval rules. */
  readonly card: boolean;
  /** Its text, or the command that it was about; empty for calls of other tools. */
  readonly question: string;
  /** The call that it was about, if it has no text. */
  readonly action: ToolAction | undefined;
  /** A summary of the input of that call. */
  readonly about: string;
  /** How it ended; undefined while it is open or if the row does not say. */
  readonly end: "yes" | "no" | "said" | "dismissed" | "expired" | "cancelled" | undefined;
  /** The text of the answer. */
  readonly answer: string;
  /** Whether approval rules answered, without asking a user. */
  readonly byRules: boolean;
}

/** The question in a row, and its answer. */
export function parseQuestion(row: UIRow): AskedQuestion {
  const v = parseObject(row.text);
  const texts = [v.title, v.question].filter((s): s is string => typeof s === "string" && s.trim() !== "");
  const question = oneLine(texts.join(" ") || (typeof v.command === "string" ? v.command : ""));
  const byRules = typeof v.rules === "string" && v.rules !== "";
  const answers = { yesButtonClicked: "yes", noButtonClicked: "no", messageResponse: "said", objectResponse: "said" } as const;
  const ends = ["dismissed", "expired", "cancelled"] as const;
  return {
    card: typeof v.dialogId === "string" || typeof v.promptId === "string" || byRules,
    question,
    action: question === "" && typeof v.tool === "string" ? toolActionOf(v.tool, v.input) : undefined,
    about: summarizeInput(v.input),
    end: answers[v.response as keyof typeof answers] ?? ends.find((e) => e === v.outcome),
    answer: typeof v.answer === "string" ? oneLine(v.answer) : "",
    byRules,
  };
}

/** Why a turn was interrupted, without the English sentence of the hub around it. */
export function interruptionReason(row: UIRow): string {
  const text = row.text ?? "";
  return /^The turn was cut off: (.*)\. Go on\?$/s.exec(text)?.[1] ?? text;
}

/** What the user can do about an error. */
export type Remedy = "connect" | "wait" | "shorten" | "again";

/** The best remedy for an error, by its code if it has one, else by its reason. */
export function remedyOf(reason: string, code = 0): Remedy {
  if (code === 4005) return "connect";
  if ([1004, 3004, 3006, 4004].includes(code)) return "wait";
  if (code === 1005) return "shorten";
  const kind = /^(?:[\w ]+: )*?(auth|rate|overloaded|context_length|invalid|refused|transport): /.exec(reason)?.[1];
  switch (kind) {
    case "auth":
      return "connect";
    case "rate":
    case "overloaded":
      return "wait";
    case "context_length":
      return "shorten";
  }
  if (/\b(api.?key|credentials|unauthori[sz]ed|no agent is available|no (ai )?provider|401|403)\b/i.test(reason)) return "connect";
  if (/\b(rate.?limit|too many requests|overloaded|429|529)\b/i.test(reason)) return "wait";
  return "again";
}
