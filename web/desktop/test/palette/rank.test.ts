import { expect, test } from "vitest";
import { asksOnly, askText } from "../../src/palette/entries.js";
import { linesOf } from "../../src/palette/lines.js";
import { addRecent, type Rankable, rank, readRecent, stepTo } from "../../src/palette/rank.js";

const items: Rankable[] = [
  { id: "settings", group: "actions", title: "Settings" },
  { id: "sessions", group: "actions", title: "Show your sessions" },
  { id: "w1", group: "windows", title: "Setup notes" },
  { id: "dark", group: "settings", title: "테마: 어둡게", words: "Theme: dark" },
  { id: "ask", group: "ask", title: "Ask the agent" },
];

const ids = (query: string, recent: string[] = []): string[] => rank(items, query, recent).flatMap((s) => s.items.map((i) => i.item.id));

test("without a query, recent entries come first and are listed once", () => {
  expect(rank(items, "", ["w1", "gone"]).map((s) => s.group)).toEqual(["recent", "actions", "settings", "ask"]);
  expect(ids("", ["w1"])).toEqual(["w1", "settings", "sessions", "dark", "ask"]);
});

test("with a query, the best match comes first and the ask entry last", () => {
  expect(ids("set")).toEqual(["settings", "w1", "ask"]);
  expect(ids("zzz")).toEqual(["ask"]);
});

test("a recent entry wins over an equal match", () => {
  expect(ids("set", ["w1"])[0]).toBe("w1");
});

test("an entry is found by its English text, too", () => {
  expect(ids("dark")).toEqual(["dark", "ask"]);
});

test("the number of recent entries is bounded", () => {
  expect(addRecent(["a", "b"], "b")).toEqual(["b", "a"]);
  expect(addRecent(Array.from({ length: 30 }, (_, i) => `${i}`), "x")).toHaveLength(20);
  expect(readRecent('["a",1,null]')).toEqual(["a"]);
  expect(readRecent("{")).toEqual([]);
  expect(readRecent(null)).toEqual([]);
});

test("arrows wrap around, pages stop at the ends", () => {
  expect(stepTo("ArrowDown", 2, 3)).toBe(0);
  expect(stepTo("ArrowUp", 0, 3)).toBe(2);
  expect(stepTo("PageDown", 1, 30)).toBe(9);
  expect(stepTo("PageDown", 28, 30)).toBe(29);
  expect(stepTo("PageUp", 3, 30)).toBe(0);
  expect(stepTo("End", 3, 30)).toBe(29);
  expect(stepTo("a", 3, 30)).toBeUndefined();
});

test("a query may be marked as a message", () => {
  expect(askText(" ask:  open a note ")).toBe("open a note");
  expect(askText("질문: 날씨")).toBe("날씨");
  expect(askText("asking for it")).toBe("asking for it");
  expect(asksOnly("ask: x")).toBe(true);
  expect(asksOnly("task: x")).toBe(false);
});

test("shortcuts with the same text share a line", () => {
  expect(linesOf([{ combo: "alt+1", text: "a" }, { combo: "f6", text: "b" }, { combo: "alt+2", text: "a" }])).toEqual([
    { text: "a", combos: ["alt+1", "alt+2"] },
    { text: "b", combos: ["f6"] },
  ]);
  const four = ["alt+1", "alt+2", "alt+3", "alt+4"].map((combo) => ({ combo, text: "a" }));
  expect(linesOf(four)).toEqual([{ text: "a", combos: ["alt+1…4"] }]);
  expect(linesOf(["a", "b", "c"].map((combo) => ({ combo, text: "x" })))[0]!.combos).toEqual(["a", "b", "c"]);
});
