// Changes of files in the arguments of tools, line by line. Every character of the arguments stays visible.

import type { Argument } from "./arguments.js";

export interface DiffLine {
  readonly kind: "file" | "added" | "removed" | "same";
  readonly text: string;
}

const fileHeads = ["+++ ", "--- ", "rename to ", "deleted file", "*** ", "@@"];

/** The lines of a patch. */
export function patchLines(patch: string): readonly DiffLine[] {
  return patch
    .replace(/\n$/, "")
    .split("\n")
    .map((text) => {
      if (fileHeads.some((h) => text.startsWith(h))) return { kind: "file", text };
      return { kind: text.startsWith("+") ? "added" : text.startsWith("-") ? "removed" : "same", text };
    });
}

/** The files that a patch changes. */
export function patchedFiles(patch: string): readonly string[] {
  const files = patch.split("\n").flatMap((line) => /^(?:\+\+\+ |rename to |\*\*\* (?:Add|Update|Delete) File: )(.+)$/.exec(line)?.[1] ?? []);
  return [...new Set(files.map((f) => f.trim()))];
}

/** The arguments of a tool that changes files, of which the change is a diff; undefined for other arguments. */
export function splitChange(args: readonly Argument[]): { readonly change: readonly DiffLine[]; readonly rest: readonly Argument[] } | undefined {
  const value = (...names: string[]): string | undefined => args.find((a) => names.includes(a.name))?.value;
  const without = (...names: string[]): readonly Argument[] => args.filter((a) => !names.includes(a.name));
  const patch = value("patch");
  if (patch !== undefined) return { change: patchLines(patch), rest: without("patch") };
  if (value("file_path") === undefined) return undefined;
  const before = value("old_string");
  const after = value("new_string");
  if (before !== undefined && after !== undefined) return { change: changedLines(before, after), rest: without("old_string", "new_string") };
  const content = value("content");
  return content === undefined ? undefined : { change: changedLines("", content), rest: without("content") };
}

/** The change of a text: the lines between those that both versions begin and end with are replaced. */
function changedLines(before: string, after: string): readonly DiffLine[] {
  const a = before === "" ? [] : before.split("\n");
  const b = after === "" ? [] : after.split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const lines = (kind: DiffLine["kind"], mark: string, all: readonly string[]): readonly DiffLine[] => all.map((text) => ({ kind, text: mark + text }));
  return [
    ...lines("same", " ", a.slice(0, head)),
    ...lines("removed", "-", a.slice(head, a.length - tail)),
    ...lines("added", "+", b.slice(head, b.length - tail)),
    ...lines("same", " ", a.slice(a.length - tail)),
  ];
}
