// What a tool call would do, in words: a verb, an object and the consequence. It is derived from the name of the tool and its
// arguments, never from a text of the agent, which could lie about it. The card shows the arguments, too.

import type { asks as texts } from "../texts/asks.js";
import { parseArguments } from "./arguments.js";
import { patchedFiles } from "./diff.js";
import { escapeInvisible } from "./invisible.js";

export type Words = (typeof texts)["en"];

export interface Consequence {
  /** A question with a verb and an object. */
  readonly title: string;
  /** The label of the button that allows it. */
  readonly verb: string;
  /** What happens if it is allowed. */
  readonly effect: string;
  /** Whether it cannot be undone. */
  readonly danger: boolean;
}

/** The words of a tool's name: deleteReports, delete_reports and delete:reports are the same. */
function wordsIn(tool: string): string[] {
  return tool
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((w) => w !== "");
}

const pathNames = ["path", "file", "file_path", "filePath", "filename", "name", "target", "title", "appId", "id"];
const commandNames = ["command", "cmd", "script", "code"];

/** Commands that delete, overwrite, publish or run as the administrator. */
const dangerous = /(^|[\s;&|(])(sudo|rm|rmdir|shred|dd|mkfs\S*|kill|pkill|killall|shutdown|reboot|chmod|chown|truncate)\s|>\s*\/|git\s+(push|reset|clean)|drop\s+(table|database)|delete\s+from|npm\s+publish/i;

/** Describes a call; undefined if nothing can be said about a tool of that name. */
export function describeCall(tool: string, message: string, t: Words): Consequence | undefined {
  const words = wordsIn(tool);
  const has = (...any: string[]): boolean => any.some((w) => words.includes(w));
  const args = new Map(parseArguments(message, tool).map((a) => [a.name, a.value]));
  const one = shorten(pathNames.map((n) => args.get(n)).find((v) => v !== undefined && v !== "") ?? "");
  if (has("delete", "remove", "rm", "trash", "unlink", "drop")) {
    const many = listIn(args);
    const what = many !== undefined ? t.files(many) : one !== "" ? t.quoted(one) : t.something;
    return { title: t.deleteTitle(what), verb: t.deleteVerb, effect: t.deleteEffect, danger: true };
  }
  const mcp = /^mcp__(.+?)__(.+)$/s.exec(tool);
  if (mcp !== null) return { title: t.serverTitle(shorten(mcp[2]!), shorten(mcp[1]!)), verb: t.allowVerb, effect: t.serverEffect, danger: false };
  const command = commandNames.map((n) => args.get(n)).find((v) => v !== undefined) ?? (args.size === 1 ? args.get("") : undefined);
  if (has("bash", "shell", "command", "exec", "execute", "terminal", "run") && command !== undefined) {
    const danger = dangerous.test(`${command} `);
    return { title: t.runTitle, verb: t.runVerb, effect: danger ? t.runDanger : t.runEffect, danger };
  }
  const patched = patchedFiles(args.get("patch") ?? "");
  if (has("patch") && patched.length > 0) {
    return { title: t.writeTitle(namesOf(patched, t)), verb: t.writeVerb, effect: t.writeEffect, danger: false };
  }
  if (has("write", "edit", "replace", "patch", "append", "create", "save") && has("file", "files", "write", "edit", "patch") && one !== "") {
    return { title: t.writeTitle(t.quoted(one)), verb: t.writeVerb, effect: t.writeEffect, danger: false };
  }
  if (has("send", "post", "publish", "email", "mail", "tweet", "message")) return { title: t.sendTitle, verb: t.sendVerb, effect: t.sendEffect, danger: true };
  const host = hostIn(args.get("url") ?? args.get("uri") ?? "");
  if (host !== "") return { title: t.openTitle(t.quoted(host)), verb: t.openVerb, effect: t.openEffect, danger: false };
  if (has("read", "list", "search", "view", "get") && one !== "") return { title: t.readTitle(t.quoted(one)), verb: t.readVerb, effect: t.readEffect, danger: false };
  return undefined;
}

/** The number of items of the only list among the arguments. */
function listIn(args: ReadonlyMap<string, string>): number | undefined {
  for (const value of args.values()) {
    if (value.startsWith("• ")) return value.split("\n").length;
  }
  return undefined;
}

/** Up to three names of files, and the number of all if there are more. */
function namesOf(files: readonly string[], t: Words): string {
  const shown = files.slice(0, 3).map((f) => t.quoted(shorten(f))).join(", ");
  return files.length > 3 ? `${shown}… (${t.files(files.length)})` : shown;
}

function hostIn(address: string): string {
  try {
    return new URL(address).host;
  } catch {
    return "";
  }
}

/** At most 48 characters of a value in one line, without invisible ones. */
function shorten(value: string): string {
  const line = escapeInvisible(value.replaceAll(/\s+/g, " ").trim());
  return line.length > 48 ? `…${line.slice(-47)}` : line;
}
