import { expect, test } from "vitest";
import { describeCall } from "../../src/asks/consequence.js";
import { asks } from "../../src/texts/asks.js";

const call = (tool: string, input: unknown, t = asks.en) => describeCall(tool, `${tool}\n${JSON.stringify(input)}`, t);

test("deleting names what is lost, and is dangerous", () => {
  expect(call("delete_reports", { files: ["a", "b", "c"], permanently: true })).toMatchObject({ title: "Delete 3 files permanently?", verb: "Delete", danger: true });
  expect(call("removeFile", { path: "notes/plan.md" })?.title).toBe("Delete “notes/plan.md” permanently?");
  expect(call("delete_reports", { files: ["a"] }, asks.ko)?.title).toBe("영구히 삭제할까요? 파일 1개");
});

test.each([
  ["ls -la", false],
  ["rm -rf build", true],
  ["cat a && sudo reboot", true],
  ["git push origin main", true],
  ["echo firmware", false],
])("the command %j is dangerous: %s", (command, danger) => {
  expect(call("Bash", { command })).toMatchObject({ title: "Run a command on this computer?", danger });
});

test("other tools", () => {
  expect(call("Write", { file_path: "/srv/a.txt", content: "x" })?.title).toBe("Change “/srv/a.txt”?");
  expect(call("fetch", { url: "https://example.org/secret?x=1" })?.title).toBe("Open “example.org”?");
  expect(call("Read", { file_path: "a.txt" })).toMatchObject({ title: "Read “a.txt”?", danger: false });
  expect(call("make_coffee", { sugar: 2 })).toBeUndefined();
});

test("a tool of an MCP server has its name and that of the server", () => {
  expect(call("mcp__files__write_file", { path: "a.txt" })).toMatchObject({ title: "Use write_file of the MCP server files?", verb: "Allow", danger: false });
  expect(call("mcp__files__delete_file", { path: "a.txt" })).toMatchObject({ title: "Delete “a.txt” permanently?", danger: true });
});

test("a patch names its files", () => {
  expect(call("apply_patch", { patch: "+++ a.txt\n+x\n" })?.title).toBe("Change “a.txt”?");
  expect(call("apply_patch", { patch: "+++ a\n+x\n+++ b\n+x\n" })?.title).toBe("Change “a”, “b”?");
  expect(call("apply_patch", { patch: ["a", "b", "c", "d"].map((f) => `+++ ${f}\n+x\n`).join("") })?.title).toBe("Change “a”, “b”, “c”… (4 files)?");
  expect(call("apply_patch", { patch: "" })).toBeUndefined();
});

test("a name cannot hide its end or look like another text", () => {
  const title = call("delete", { path: `${"x".repeat(80)}.png\u202e` })!.title;
  expect(title.length).toBeLessThan(120);
  expect(title).toContain(".png");
  expect(title).not.toContain("\u202e");
});
