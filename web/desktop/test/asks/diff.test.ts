import { expect, test } from "vitest";
import { patchedFiles, patchLines, splitChange } from "../../src/asks/diff.js";

const text = (args: Record<string, string>): string | undefined => splitChange(Object.entries(args).map(([name, value]) => ({ name, value })))?.change.map((l) => l.text).join("\n");

test("a patch names its files, and its lines are added, removed or kept", () => {
  const patch = "+++ a.txt\n@@ -1 +1 @@\n same\n-old\n+new\n+++ dir/b.txt\nrename to c.txt\n+x\n";
  expect(patchedFiles(patch)).toEqual(["a.txt", "dir/b.txt", "c.txt"]);
  expect(patchedFiles("*** Begin Patch\n*** Delete File: d.txt\n*** End Patch")).toEqual(["d.txt"]);
  expect(patchLines(patch).map((l) => l.kind)).toEqual(["file", "file", "same", "removed", "added", "file", "file", "added"]);
});

test("edits and new files are a diff that keeps every character", () => {
  expect(text({ file_path: "a", old_string: "one\ntwo\nend", new_string: "one\n2\nend" })).toBe(" one\n-two\n+2\n end");
  expect(text({ file_path: "a", old_string: "x", new_string: "x\n" })).toBe(" x\n+");
  expect(text({ file_path: "a", content: "hello\nyou" })).toBe("+hello\n+you");
  expect(text({ command: "ls" })).toBeUndefined();
  expect(text({ old_string: "x", new_string: "y" })).toBeUndefined();
});

test("the other arguments stay", () => {
  const args = [
    { name: "file_path", value: "a" },
    { name: "old_string", value: "x" },
    { name: "new_string", value: "y" },
    { name: "replace_all", value: "true" },
  ];
  expect(splitChange(args)?.rest.map((a) => a.name)).toEqual(["file_path", "replace_all"]);
});
