import { expect, it } from "vitest";
import type { Cell } from "../../../core/src/index.js";
import { overwrite, spans } from "../../src/content/notebook/ansi.js";
import { hiddenBelow, newestRun } from "../../src/content/notebook/follow.js";

it.each([
  ["plain", "plain"],
  ["10%\r20%\r", "20%"],
  ["long line\rab\nnext", "abng line\nnext"],
  ["a\r\nb\r\r\n", "a\nb\n"],
])("carriage returns of %j", (text, want) => {
  expect(overwrite(text)).toBe(want);
});

it("colours of escape sequences, and no other sequences", () => {
  const esc = "\u001b";
  expect(spans(`a${esc}[0;31mred${esc}[1;92mbright${esc}[0mend`)).toEqual([
    { text: "a" },
    { text: "red", fg: 1 },
    { text: "bright", fg: 10, bold: true },
    { text: "end" },
  ]);
  expect(spans(`${esc}[38;5;4mx${esc}[48;2;1;2;3my${esc}[2J${esc}]0;title\u0007z`)).toEqual([
    { text: "x", fg: 4 },
    { text: "y", fg: 4 },
    { text: "z", fg: 4 },
  ]);
});

it.each([
  ["below", { top: 300, bottom: 350 }, 150],
  ["half below", { top: 150, bottom: 250 }, 50],
  ["too large: its beginning", { top: 150, bottom: 900 }, 150],
  ["in view", { top: 20, bottom: 180 }, 0],
  ["above", { top: -200, bottom: -100 }, 0],
  ["too large, and begins above", { top: -20, bottom: 900 }, 0],
])("outputs that are %s", (_, outputs, want) => {
  expect(hiddenBelow({ top: 0, bottom: 200 }, outputs)).toBe(want);
});

it("the newest run is the cell that began last, and after the previous one", () => {
  const cells = [{ id: "a", began: 3 }, { id: "b", began: 7 }, { id: "c" }, { id: "d", began: 5 }].map((c): Cell => ({ kind: "code", source: "", ...c }));
  expect([newestRun(cells, 0)?.id, newestRun(cells, 6)?.id, newestRun(cells, 7), newestRun([], 0)]).toEqual(["b", "b", undefined, undefined]);
});
