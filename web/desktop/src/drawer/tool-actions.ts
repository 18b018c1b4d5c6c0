// What agents do with the hub's own tools, as somebody would tell it. Tools of others are shown by their names.

import type { WindowID } from "../../../core/src/index.js";

export type ToolActionKind =
  | "opened"
  | "updated"
  | "closed"
  | "locked"
  | "unlocked"
  | "saw"
  | "listed"
  | "told"
  | "task"
  | "asked"
  | "read"
  | "saved"
  | "deleted"
  | "listedFiles"
  | "remembered";

/** What was done, and the field of the input that says to what; without one it is told without. */
const toolActions: Readonly<Record<string, readonly [ToolActionKind, string?]>> = {
  "window:create": ["opened", "title"],
  "window:create_component": ["opened", "title"],
  "window:update": ["updated", "title"],
  "window:update_component": ["updated", "title"],
  "window:close": ["closed", "title"],
  "window:lock": ["locked", "title"],
  "window:unlock": ["unlocked", "title"],
  "window:view": ["saw", "title"],
  "window:list": ["listed"],
  "window:show_toast": ["told", "message"],
  "window:show_notification": ["told", "title"],
  "task:run": ["task", "objective"],
  "user:ask": ["asked", "title"],
  "user:request": ["asked", "title"],
  "storage:read": ["read", "path"],
  "storage:write": ["saved", "path"],
  "storage:delete": ["deleted", "path"],
  "storage:list": ["listedFiles"],
  "system:memorize": ["remembered", "content"],
};

export interface ToolAction {
  readonly kind: ToolActionKind;
  /** To what it was done; empty where that goes without saying. */
  readonly what: string;
  /** The window that it was done to, whose title says it better. */
  readonly window: WindowID | undefined;
}

/** What a call did; undefined when there are no words for it. An input that was too long for its row is its beginning. */
export function toolActionOf(tool: string, input: unknown): ToolAction | undefined {
  const known = Object.hasOwn(toolActions, tool) ? toolActions[tool] : undefined;
  if (known === undefined) return undefined;
  const [kind, field] = known;
  if (field === undefined) return { kind, what: "", window: undefined };
  const window = field === "title" ? textIn(input, "windowId") : undefined;
  const what = firstLine(textIn(input, field) ?? "");
  return what === "" && window === undefined ? undefined : { kind, what, window };
}

function textIn(input: unknown, field: string): string | undefined {
  if (typeof input === "string") {
    const found = new RegExp(`"${field}"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*")`).exec(input)?.[1];
    return found === undefined ? undefined : textOf(found);
  }
  const v: unknown = typeof input === "object" && input !== null ? (input as Record<string, unknown>)[field] : undefined;
  return typeof v === "string" && v !== "" ? v : undefined;
}

function textOf(json: string): string | undefined {
  try {
    return JSON.parse(json) as string;
  } catch {
    return undefined;
  }
}

function firstLine(text: string): string {
  const line = text.trim().split("\n", 1)[0]!.replace(/^#+ /, "").trim();
  return line.length > 160 ? `${line.slice(0, 159)}…` : line;
}
