// The entered answer to a question of the plan, and what is wrong with it. Pure; the hub checks it again.

import type { HITLRequest } from "../../../core/src/index.js";

/** A question that requires a value. */
export type ValueRequest = Extract<HITLRequest, { type: "hitl_input_request" | "hitl_clarification" }>;

/** The contents of the fields of a question; each kind of question uses some of them. */
export interface Entry {
  readonly text: string;
  /** The end of a range of dates; `text` is its start. */
  readonly end: string;
  readonly chosen: readonly string[];
}

export type Problem = "empty" | "notNumber" | "low" | "high" | "notDate" | "backwards";

export type Answer = { readonly value: unknown } | { readonly problem: Problem };

/** The initial contents of the fields: the default value, which is also used when the question times out. */
export function initialEntry(request: ValueRequest): Entry {
  const given: unknown = request.type === "hitl_input_request" ? request.default_value : undefined;
  const none: Entry = { text: "", end: "", chosen: [] };
  if (given === undefined || given === null) return none;
  if (Array.isArray(given)) return { ...none, chosen: given.filter((v) => typeof v === "string") };
  if (typeof given === "object") {
    const { from, to } = given as { from?: unknown; to?: unknown };
    return { ...none, text: typeof from === "string" ? from : "", end: typeof to === "string" ? to : "" };
  }
  const text = String(given);
  return request.input_type === "choice" ? { ...none, chosen: [text] } : { ...none, text };
}

/** Converts the contents of the fields to the answer. */
export function parseEntry(request: ValueRequest, entry: Entry): Answer {
  const text = entry.text.trim();
  const range = request.type === "hitl_input_request" && request.range === true;
  switch (request.input_type) {
    case "choice":
      return entry.chosen.length === 0 ? emptyAnswer(request) : { value: entry.chosen[0] };
    case "multi":
      return entry.chosen.length === 0 && request.required ? { problem: "empty" } : { value: [...entry.chosen] };
    case "number":
      return text === "" ? emptyAnswer(request) : parseNumber(request, text);
    case "date":
      if (range) return text === "" && entry.end.trim() === "" ? emptyAnswer(request) : parseRange(text, entry.end.trim());
      return text === "" ? emptyAnswer(request) : isDate(text) ? { value: text } : { problem: "notDate" };
    case "confirm":
      return text === "" ? emptyAnswer(request) : { value: text === "true" };
    default:
      return text === "" ? emptyAnswer(request) : { value: entry.text.trim().normalize("NFC") };
  }
}

function emptyAnswer(request: ValueRequest): Answer {
  return request.required ? { problem: "empty" } : { value: null };
}

function parseNumber(request: ValueRequest, text: string): Answer {
  const n = Number(text.replace(",", "."));
  if (!Number.isFinite(n)) return { problem: "notNumber" };
  const { min, max } = request.type === "hitl_input_request" ? request : {};
  if (min !== undefined && n < min) return { problem: "low" };
  if (max !== undefined && n > max) return { problem: "high" };
  return { value: n };
}

function parseRange(from: string, to: string): Answer {
  if (!isDate(from) || !isDate(to)) return { problem: "notDate" };
  return to < from ? { problem: "backwards" } : { value: { from, to } };
}

/** Whether a text is a day that exists in the calendar. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

export type TimeoutOutcome = { what: "plan" | "todo" | "on" } | { what: "default"; value: string };

/** What the hub does if the question times out. */
export function timeoutOutcome(request: HITLRequest): TimeoutOutcome {
  switch (request.type) {
    case "hitl_plan_review":
      return { what: "plan" };
    case "hitl_approval_request":
      return { what: "todo" };
    case "hitl_clarification":
      return { what: request.required ? "plan" : "on" };
    case "hitl_input_request": {
      const given: unknown = request.default_value;
      if (given !== undefined && given !== null) return { what: "default", value: formatValue(given, request.options ?? []) };
      return { what: request.required ? "todo" : "on" };
    }
  }
}

/** A value by the labels of its options. */
function formatValue(value: unknown, options: readonly { value: string; label: string }[]): string {
  if (Array.isArray(value)) return value.map((v) => formatValue(v, options)).join(", ");
  if (typeof value === "object" && value !== null) return Object.values(value).join(" – ");
  return options.find((o) => o.value === value)?.label ?? String(value);
}
