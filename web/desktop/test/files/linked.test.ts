import { expect, it, test } from "vitest";
import { namePattern, splitNames } from "../../src/files/linked.js";

const files = ["report.md", "sales.csv", "data/sales.csv", "notes", "a+b (1).txt", "보고서.md", "x.y"];

/** The paths that are found in a text. */
const found = (text: string): (string | undefined)[] => splitNames(text, namePattern(files)).flatMap((p) => (p.path === undefined ? [] : [p.path]));

test.each<[string, string[]]>([
  ["The result is in report.md.", ["report.md"]],
  ["report.md, sales.csv and data/sales.csv", ["report.md", "sales.csv", "data/sales.csv"]],
  ["`./report.md` and /files/report.md", ["report.md", "report.md"]],
  ["see a+b (1).txt!", ["a+b (1).txt"]],
  ["보고서.md를 보세요", []], // a letter follows
  ["보고서.md 파일", ["보고서.md"]],
  ["my notes", []], // a common word
  ["old-report.md report.md.bak xreport.md report.mdx other/report.md", []],
  ["", []],
])("%j has %j", (text, want) => {
  expect(found(text)).toEqual(want);
});

it("the parts are the whole text", () => {
  const text = "a report.md b sales.csv";
  expect(splitNames(text, namePattern(files)).map((p) => p.text).join("")).toBe(text);
  expect(splitNames(text, undefined)).toEqual([{ text }]);
});

it("without names there is no pattern", () => {
  expect([namePattern([]), namePattern(["notes", "a"])]).toEqual([undefined, undefined]);
});
