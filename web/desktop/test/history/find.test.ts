import { expect, test } from "vitest";
import type { UIRow } from "../../../core/src/index.js";
import { type Entry, entriesOf } from "../../src/drawer/entries.js";
import { hitsOf, matchRanges, stepTo } from "../../src/history/find.js";

function entries(...rows: UIRow[]): Entry[] {
  return entriesOf({ rows: new Map(rows.map((row) => [row.ts, { row, bytes: 0 }])), queues: new Map() }, [], undefined);
}

const text = (ts: number, words: string, more: Partial<UIRow> = {}): UIRow => ({ ts, type: "say", say: "text", text: words, monitorId: "monitor-0", ...more });

test("finds words whatever their case, in all searchable text", () => {
  const all = entries(
    text(1, "Hello World"),
    text(2, "nothing", { say: "user_feedback" }),
    text(3, "", { say: "reasoning", reasoning: "a WORLD of thought" }),
    text(4, "", { say: "condense_context", contextCondense: { cost: 0, prevContextTokens: 1, newContextTokens: 1, summary: "world in short" } }),
  );
  expect(hitsOf(all, " world ").map((h) => h.ts)).toEqual([1, 3, 4]);
  expect(hitsOf(all, "  ")).toEqual([]);
});

test("Korean is found in any composition", () => {
  const all = entries(text(1, "한국어 대화".normalize("NFD")), text(2, "다른 말"));
  expect(hitsOf(all, "한국어").map((h) => h.ts)).toEqual([1]);
});

test("steps wrap around, and start at the newest or the oldest", () => {
  expect(stepTo(["a", "b", "c"], undefined, -1)).toBe("c");
  expect(stepTo(["a", "b", "c"], undefined, 1)).toBe("a");
  expect(stepTo(["a", "b", "c"], "c", 1)).toBe("a");
  expect(stepTo(["a", "b", "c"], "a", -1)).toBe("c");
  expect(stepTo(["a"], "gone", -1)).toBe("a");
  expect(stepTo([], "a", 1)).toBeUndefined();
});

test("ranges refer to the original text", () => {
  expect(matchRanges("abcABC", "bc")).toEqual([[1, 3], [4, 6]]);
  expect(matchRanges("abc", "")).toEqual([]);
  expect(matchRanges("İx x", "x")).toEqual([]); // it has more letters in lower case
});
