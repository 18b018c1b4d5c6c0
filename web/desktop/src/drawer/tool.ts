// What rows about tools, ends of turns and trouble say. Their texts are JSON that the hub wrote; anything else is shown as it is.

import type { UIRow } from "../../../core/src/index.js";
import { type ToolAction, toolActionOf } from "./tool-actions.js";

export interface ToolCall {
  readonly tool: string;
  readonly failed: boolean;
  /** What it is about, in one line; empty when nothing tells. */
  readonly about: string;
  /** What it did, where there are words for it. */
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
  readonly reason: string;
}

function objectOf(text: string | undefined): Record<string, unknown> {
  try {
    const v: unknown = JSON.parse(text ?? "");
    return typeof v === "object" && v !== null && !Array.isArray(v) ? (v as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function numberIn(v: unknown): number {
  return typeof v === "number" && Number.isFinite(v) ? v : 0;
}

export function toolOf(row: UIRow): ToolCall {
  const v = objectOf(row.text);
  if (typeof v.tool !== "string") {
    return { tool: "", failed: false, about: line(row.text ?? ""), action: undefined, input: "", result: row.text ?? "", durationMs: undefined };
  }
  return {
    tool: v.tool,
    failed: v.status === "error",
    about: aboutOf(v.input),
    action: toolActionOf(v.tool, v.input),
    input: pretty(v.input),
    result: typeof v.result === "string" ? prettyText(v.result) : pretty(v.result),
    durationMs: typeof v.durationMs === "number" ? v.durationMs : undefined,
  };
}

/** The fields that tell best what a call is about, the best first. */
const telling = ["title", "objective", "path", "url", "query", "command", "message", "content", "windowId", "name", "key", "id"];

/** The one line that says what a call is about. */
export function aboutOf(input: unknown): string {
  if (typeof input === "string") return line(input);
  if (typeof input !== "object" || input === null) return "";
  const fields = input as Record<string, unknown>;
  for (const name of telling) {
    const v = fields[name];
    if (typeof v === "string" && v.trim() !== "") return line(v);
  }
  const first = Object.values(fields).find((v) => typeof v === "string" && v !== "");
  return line((first as string | undefined) ?? "");
}

function line(text: string): string {
  const one = text.replace(/\s+/g, " ").trim();
  return one.length > 160 ? `${one.slice(0, 159)}…` : one;
}

function pretty(v: unknown): string {
  if (v === undefined) return "";
  return typeof v === "string" ? v : JSON.stringify(v, null, 2);
}

/** JSON on several lines, and any other text as it is. */
function prettyText(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export function endOf(row: UIRow): TurnEnd {
  const v = objectOf(row.text);
  return {
    outcome: v.outcome === "failed" || v.outcome === "interrupted" ? v.outcome : "completed",
    durationMs: numberIn(v.durationMs),
    inputTokens: numberIn(v.inputTokens),
    outputTokens: numberIn(v.outputTokens),
    cached: numberIn(v.cacheReads),
    costUsd: numberIn(v.costUsd),
    reason: typeof v.reason === "string" ? v.reason : "",
  };
}

export interface Asked {
  /** The question is or was a dialog or a prompt, which have cards of their own, or was settled by rules. */
  readonly card: boolean;
  readonly question: string;
  /** How it ended; undefined while nobody knows. */
  readonly end: "yes" | "no" | "said" | "dismissed" | "expired" | "cancelled" | undefined;
  /** What was said. */
  readonly answer: string;
  /** Nobody was asked: the rules had an answer. */
  readonly byRules: boolean;
}

/** What a row asked a person, and what came of it. */
export function askedOf(row: UIRow): Asked {
  const v = objectOf(row.text);
  const texts = [v.title, v.question].filter((s): s is string => typeof s === "string" && s.trim() !== "");
  const about = typeof v.command === "string" && v.command !== "" ? v.command : typeof v.tool === "string" ? `${v.tool} ${aboutOf(v.input)}` : "";
  const byRules = typeof v.rules === "string" && v.rules !== "";
  const answers = { yesButtonClicked: "yes", noButtonClicked: "no", messageResponse: "said", objectResponse: "said" } as const;
  const ends = ["dismissed", "expired", "cancelled"] as const;
  return {
    card: typeof v.dialogId === "string" || typeof v.promptId === "string" || byRules,
    question: line(texts.join(" ") || about),
    end: answers[v.response as keyof typeof answers] ?? ends.find((e) => e === v.outcome),
    answer: typeof v.answer === "string" ? line(v.answer) : "",
    byRules,
  };
}

/** Why a turn was cut off, without the words around it that the hub has in one language only. */
export function whyCutOff(row: UIRow): string {
  const text = row.text ?? "";
  return /^The turn was cut off: (.*)\. Go on\?$/s.exec(text)?.[1] ?? text;
}

/** What a person can do about trouble. */
export type Remedy = "connect" | "wait" | "shorten" | "again";

/** The best thing to do about what went wrong, by its code where there is one, else by how its reason begins. */
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
