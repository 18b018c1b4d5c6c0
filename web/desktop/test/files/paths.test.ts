import { describe, expect, it, test } from "vitest";
import { freePath, kindOf, safeName } from "../../src/files/paths.js";

describe("kindOf", () => {
  test.each([
    ["a.md", "markdown"],
    ["folder.md/a.CSV", "csv"],
    ["a.tsv", "csv"],
    ["a.JPEG", "picture"],
    ["a.svg", "page"],
    ["a.html", "page"],
    ["a.pdf", "pdf"],
    ["a.wav", "audio"],
    ["a.webm", "video"],
    ["a.ipynb", "notebook"],
    ["a.tar.gz", "other"],
    ["a.pdf.txt", "text"],
    ["Makefile", "text"],
    ["pdf", "text"],
  ])("%s is %s", (path, want) => {
    expect(kindOf(path)).toBe(want);
  });
});

describe("freePath", () => {
  test.each([
    ["a.txt", [], "a.txt"],
    ["a.txt", ["a.txt"], "a (2).txt"],
    ["a.txt", ["a.txt", "a (2).txt"], "a (3).txt"],
    ["x.y/a", ["x.y/a"], "x.y/a (2)"],
    ["x/.env", ["x/.env"], "x/.env (2)"],
    ["a.tar.gz", ["a.tar.gz"], "a.tar (2).gz"],
  ])("%s beside %j is %s", (path, taken, want) => {
    expect(freePath(path, new Set(taken))).toBe(want);
  });
});

describe("safeName", () => {
  test.each([
    ["report.md", "report.md"],
    ["한글 이름.txt", "한글 이름.txt"],
    ["a/b\\c", "a_b_c"],
    ["new\nline\u0000\u009f", "new_line__"],
    ["c:x", "c_x"],
    ["", "_"],
    [".", "_."],
    ["..", "_.."],
    [".partial", "_.partial"],
    ["...", "..."],
  ])("%j becomes %j", (name, want) => {
    expect(safeName(name)).toBe(want);
  });

  it("is short", () => {
    expect(safeName("x".repeat(500))).toHaveLength(200);
  });
});
