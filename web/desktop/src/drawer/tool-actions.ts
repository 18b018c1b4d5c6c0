// Describes the calls of the hub's own tools. Other tools are shown by their names.

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

/** The kind of each tool's action, and the input field that names its object, if any. */
const toolActions: Readonly<Record<string, readonly [ToolActionKind, string?]>> = {
  "window:create": ["opened", "title"],
  "window:create_component": ["opened", "title"],
  "window:update": ["updated", "title"],
  "window:update_component": ["updated", "title"],
  "window:move": ["updated", "title"],
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
  /** The object of the action; empty if it needs none. */
  readonly what: string;
  /** The window of the action; its title describes the object better. */
  readonly window: WindowID | undefined;
}

/** The action of a tool call; undefined for unknown tools. The input is a string when it was truncated in its row. */
export function toolActionOf(tool: string, input: unknown): ToolAction | undefined {
  const known = Object.hasOwn(toolActions, tool) ? toolActions[tool] : undefined;
  if (known === undefined) return undefined;
  const [kind, field] = known;
  if (field === undefined) return { kind, what: "", window: undefined };
  const window = field === "title" ? fieldText(input, "windowId") : undefined;
  const what = firstLine(fieldText(input, field) ?? "");
  return what === "" && window === undefined ? undefined : { kind, what, window };
}

function fieldText(input: unknown, field: string): string | undefined {
  if (typeof input === "string") {
    const found = new RegExp(`"${field}"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*")`).exec(input)?.[1];
    return found === undefined ? undefined : parseString(found);
  }
  const v: unknown = typeof input === "object" && input !== null ? (input as Record<string, unknown>)[field] : undefined;
  return typeof v === "string" && v !== "" ? v : undefined;
}

function parseString(json: string): string | undefined {
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
