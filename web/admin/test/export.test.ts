import { expect, test } from "vitest";
import { csvOf, jsonOf } from "../src/table/export.js";
import { row } from "./fixtures.js";

const cells = (line: string): string[] => line.split(",");

test("a header line and one line per session", () => {
  const lines = csvOf([row("a", { tabs: 2, cost: 0.5, updatedAt: 1000 }), row("b")]).split("\r\n");
  expect(lines).toHaveLength(4);
  expect(lines[3]).toBe("");
  const at = (name: string): string => cells(lines[1]!)[cells(lines[0]!).indexOf(name)]!;
  expect([at("sessionId"), at("tabs"), at("cost"), at("updatedAt"), at("title")]).toEqual(["a", "2", "0.5", "1970-01-01T00:00:01.000Z", ""]);
});

test("commas, quotes and line breaks stay in their cell", () => {
  expect(csvOf([row("a", { title: 'one, "two"\nthree' })])).toContain('"one, ""two""\nthree"');
});

test.each(["=1+1", "+1", "-1", "@x", "\tx"])("a spreadsheet does not read %j as a formula", (title) => {
  expect(csvOf([row("a", { title })])).toContain(`,'${title}`);
});

test("JSON has the shown rows", () => {
  expect(JSON.parse(jsonOf([row("a", { title: "한글" })]))).toEqual([row("a", { title: "한글" })]);
});
