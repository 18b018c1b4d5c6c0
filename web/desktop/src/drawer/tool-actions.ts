// What a tool call did: the kind of the action and its object. The catalogue of tool calls has the words for each kind.

import type { WindowID } from "../../../core/src/index.js";
import type { toolCalls } from "../texts/tool-calls.js";

export type ToolTexts = (typeof toolCalls)["en"];
export type ToolActionKind = Exclude<keyof ToolTexts, "times">;

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
  "window:dismiss_toast": ["untold"],
  "window:dismiss_notification": ["untold"],
  "window:app_query": ["queried", "title"],
  "window:app_command": ["commanded", "title"],
  "task:run": ["task", "objective"],
  "plan:progress": ["progress"],
  "plan:input": ["asked", "title"],
  "user:ask": ["asked", "title"],
  "user:request": ["asked", "title"],
  "storage:read": ["read", "path"],
  "storage:write": ["saved", "path"],
  "storage:delete": ["deleted", "path"],
  "storage:list": ["listedFiles"],
  "system:get_info": ["looked"],
  "system:skill": ["guide", "name"],
  "system:http_get": ["fetched", "url"],
  "system:http_post": ["posted", "url"],
  "system:request_allowing_domain": ["domain", "domain"],
  "browser:open": ["page", "url"],
  "browser:click": ["clicked"],
  "browser:type": ["typed"],
  "browser:press": ["pressed"],
  "browser:scroll": ["scrolled"],
  "browser:screenshot": ["shot"],
  "browser:extract": ["fetched"],
  "browser:close": ["closedBrowser"],
  "notebook:open": ["notebook", "title"],
  "notebook:read": ["notebookRead"],
  "notebook:list": ["notebooks"],
  "notebook:run_cell": ["ranCell"],
  "notebook:insert_cell": ["cellAdded"],
  "notebook:edit_cell": ["cellChanged"],
  "notebook:delete_cell": ["cellDeleted"],
  "kernel:interrupt": ["stoppedCode"],
  "kernel:restart": ["restarted"],
  "kernel:complete": ["completedCode"],
  "system:run_js": ["ranScript"],
  "system:get_env_var": ["variable", "name"],
  "system:create_shortcut": ["iconAdded", "label"],
  "system:update_shortcut": ["iconChanged"],
  "system:remove_shortcut": ["iconRemoved"],
  "system:list_shortcuts": ["icons"],
  "system:memorize": ["remembered", "content"],
  "system:list_memories": ["memories"],
  "system:forget": ["forgot"],
  "system:set_config": ["configured"],
  "system:get_config": ["sawConfig"],
  "system:remove_config": ["unconfigured"],
  "system:reload_cached": ["again"],
  "system:list_reload_options": ["repeatables"],
  "apps:list": ["apps"],
  "apps:load_skill": ["guide", "appId"],
  "apps:read_config": ["appData", "appId"],
  "apps:write_config": ["appDataSaved", "appId"],
  "apps:set_app_badge": ["badge"],
  "apps:market_list": ["market"],
  "apps:market_get": ["installed", "appId"],
  "apps:market_delete": ["uninstalled", "appId"],
  "dev:read_ts": ["sourceRead", "path"],
  "dev:write_ts": ["sourceWritten", "path"],
  "dev:apply_diff_ts": ["sourceWritten", "path"],
  "dev:compile_component": ["sourceWritten", "filename"],
  "dev:write_json": ["sourceWritten", "filename"],
  "dev:compile": ["compiled"],
  "dev:typecheck": ["checked"],
  "dev:deploy": ["deployed", "name"],
  "dev:clone": ["copied"],
  // Tools of programs that are agents themselves.
  shell: ["ranCommand", "command"],
  Bash: ["ranCommand", "command"],
  apply_patch: ["patched"],
  Read: ["read", "file_path"],
  Write: ["saved", "file_path"],
  Edit: ["saved", "file_path"],
  MultiEdit: ["saved", "file_path"],
  Glob: ["searchedFiles", "pattern"],
  Grep: ["searchedFiles", "pattern"],
  WebFetch: ["fetched", "url"],
  WebSearch: ["searchedWeb", "query"],
  Task: ["task", "description"],
  TodoWrite: ["todos"],
  update_todo_list: ["todos"],
};

export interface ToolAction {
  readonly kind: ToolActionKind;
  /** The object of the action; empty if it has none or its name is unknown. */
  readonly what: string;
  /** The window of the action; its title describes the object better. */
  readonly window: WindowID | undefined;
}

/**
 * The action of a tool call. The object of other tools' actions is the tool: its title, or its name in a readable form.
 * The input is a string when it was truncated in its row.
 */
export function toolActionOf(tool: string, input: unknown, title = ""): ToolAction {
  const known = Object.hasOwn(toolActions, tool) ? toolActions[tool] : undefined;
  if (known === undefined) return { kind: "used", what: firstLine(title) || readableName(tool), window: undefined };
  const [kind, field] = known;
  if (field === undefined) return { kind, what: "", window: undefined };
  const window = field === "title" ? fieldText(input, "windowId") : undefined;
  return { kind, what: firstLine(fieldText(input, field) ?? ""), window };
}

/** A tool's name as words: mcp__github__create_issue is "create issue (github)". */
export function readableName(tool: string): string {
  const [, server, name] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? [];
  const words = (name ?? tool)
    .replaceAll(/([a-z0-9])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`)
    .replaceAll(/[_:\-\s]+/g, " ")
    .trim();
  return server === undefined ? words : `${words} (${server})`;
}

/** Puts an action into words. `title` is the title of its window, and `base` asks for the form of an action that failed. */
export function describeAction(t: ToolTexts, { kind, what }: ToolAction, title: string, base = false): string {
  return t[kind](1, what || title, base);
}

/** The actions of several calls in words, in the order of their first call. An object counts once. */
export function describeActions(t: ToolTexts, actions: readonly ToolAction[], titleOf: (window: WindowID) => string): string {
  const objects = new Map<string, Map<string, ToolAction>>();
  const calls = new Map<string, number>();
  actions.forEach((action, i) => {
    // Unlike other actions, the uses of two tools do not add up.
    const kind = action.kind === "used" ? `used ${action.what}` : action.kind;
    const of = objects.get(kind) ?? new Map<string, ToolAction>();
    of.set(action.window ?? (action.what || `call ${i}`), action);
    objects.set(kind, of);
    calls.set(kind, (calls.get(kind) ?? 0) + 1);
  });
  const phrases = [...objects].map(([kind, of]) => {
    const first = of.values().next().value!;
    if (of.size > 1) return t[first.kind](of.size, "");
    const text = describeAction(t, first, first.window === undefined ? "" : titleOf(first.window));
    return first.kind === "used" && calls.get(kind)! > 1 ? t.times(text, calls.get(kind)!) : text;
  });
  return phrases.map((text, i) => (i === 0 ? text : text.charAt(0).toLowerCase() + text.slice(1))).join(", ");
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
