import { expect, it } from "vitest";
import { overwrite, spans } from "../../src/content/notebook/ansi.js";

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
