import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Content } from "../../../core/src/index.js";
import { applyEdit, type Edit } from "../../src/content/board/apply.js";
import { columnAt, itemAt, neighbour, steppedPlace } from "../../src/content/board/drag.js";
import { cellFormat } from "../../src/content/number-format.js";

interface Vector {
  name: string;
  before: Content;
  edit: Edit;
  after?: Content;
}

// The hub is tested with the same file.
const vectors = JSON.parse(readFileSync(new URL("../../../core/testdata/edits.json", import.meta.url), "utf8")) as Vector[];

test.each(vectors)("the page shows an edit as the hub stores it: $name", ({ before, edit, after }) => {
  const copy = structuredClone(before);
  expect(applyEdit(before, edit)).toEqual(after);
  expect(before, "the content that the hub sent").toEqual(copy);
});

test("full lists and long texts are refused before they are sent", () => {
  const items = Array.from({ length: 500 }, (_, i) => ({ text: String(i) }));
  const list = (n: number): Content => ({ renderer: "component", data: { components: [{ type: "checklist", items: items.slice(0, n) }] } });
  expect(applyEdit(list(499), { op: "add", text: "x" })).toBeDefined();
  expect(applyEdit(list(500), { op: "add", text: "x" })).toBeUndefined();
  expect(applyEdit(list(1), { op: "add", text: "x".repeat(1000) })).toBeDefined();
  expect(applyEdit(list(1), { op: "add", text: "x".repeat(1001) })).toBeUndefined();
});

test("a dragged card lands in the nearest column, before the card below the pointer", () => {
  const box = (left: number, top: number) => ({ left, right: left + 100, top, bottom: top + 40 });
  const columns = [box(0, 0), box(120, 0), box(240, 0)];
  expect([-50, 50, 112, 130, 900].map((x) => columnAt(columns, x))).toEqual([0, 0, 1, 1, 2]);
  expect(columnAt([], 5)).toBe(-1);
  const cards = [box(0, 0), box(0, 50)];
  expect([-5, 19, 21, 69, 71, 500].map((y) => itemAt(cards, y))).toEqual([0, 0, 1, 1, 2, 2]);
  expect(itemAt([], 5)).toBe(0);
});

test("arrow keys lead to cards and move them, never off the board", () => {
  const counts = [2, 0, 1];
  expect(neighbour(counts, { column: 0, item: 1 }, "ArrowRight")).toEqual({ column: 2, item: 0 });
  expect(neighbour(counts, { column: 0, item: 1 }, "ArrowDown")).toBeUndefined();
  expect(neighbour(counts, { column: 2, item: 0 }, "ArrowRight")).toBeUndefined();
  expect(steppedPlace(counts, { column: 0, item: 1 }, "ArrowRight")).toEqual({ column: 1, item: 0 });
  expect(steppedPlace(counts, { column: 0, item: 0 }, "ArrowLeft")).toBeUndefined();
  expect(steppedPlace(counts, { column: 0, item: 1 }, "ArrowUp")).toEqual({ column: 0, item: 0 });
});

test("numbers are written as the format of their column says, other cells as they are", () => {
  const write = (f: Parameters<typeof cellFormat>[0], locale: string, ...cells: string[]) => cells.map((c) => cellFormat(f, locale)?.(c) ?? c);
  expect(write({ kind: "number" }, "en-GB", "1234.50", "n/a", "")).toEqual(["1,234.50", "n/a", ""]);
  expect(write({ kind: "number", decimals: 1 }, "en-GB", "1234.56")).toEqual(["1,234.6"]);
  expect(write({ kind: "percent" }, "en-GB", "0.125", "-1")).toEqual(["12.5%", "-100%"]);
  expect(write({ kind: "currency", currency: "eur" }, "en-GB", "1234.5", "free")).toEqual(["€1,234.50", "free"]);
  expect(write({ kind: "currency", currency: "KRW" }, "ko-KR", "12000")).toEqual(["₩12,000"]);
  expect(write({ kind: "currency", currency: "\"><" }, "en-GB", "1234")).toEqual(["1,234"]);
  expect(write({ kind: "number", decimals: 99 }, "en-GB", "1")).toEqual(["1.0000000000"]);
  expect(write({ kind: "text" }, "en-GB", "2024")).toEqual(["2024"]);
});
