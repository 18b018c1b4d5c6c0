import { describe, expect, it } from "vitest";
import { comparePositions } from "../src/position.js";
import { compareText, firstBytes, utf8Length, wholeUnits } from "../src/text.js";

const texts = ["", "a", "ab", "é", "한", "\uffff", "\ue000", "𝛀", "a𝛀", "a\uffff", "𝛀𝛀", "𝛀a", "\ud7ff", "😀x한"];

describe("texts are measured and ordered by their bytes", () => {
  it("compareText", () => {
    for (const a of texts) {
      for (const b of texts) {
        expect([a, b, Math.sign(compareText(a, b))]).toEqual([a, b, Buffer.compare(Buffer.from(a), Buffer.from(b))]);
      }
    }
  });

  it("utf8Length and firstBytes", () => {
    for (const text of [...texts, texts.join("")]) {
      const bytes = new TextEncoder().encode(text);
      expect(utf8Length(text)).toBe(bytes.length);
      for (let limit = -1; limit <= bytes.length + 1; limit++) {
        const first = firstBytes(text, limit);
        expect(text.startsWith(first) && first.isWellFormed()).toBe(true);
        expect(utf8Length(first)).toBeLessThanOrEqual(Math.max(limit, 0));
        const next = String.fromCodePoint(text.codePointAt(first.length) ?? 0);
        if (first !== text) expect(utf8Length(first + next)).toBeGreaterThan(limit);
      }
    }
  });

  it("wholeUnits", () => {
    const units = (text: string) => Array.from({ length: text.length + 2 }, (_, i) => wholeUnits(text, i));
    expect(units("a𝛀b")).toEqual([0, 1, 1, 3, 4, 4]);
    expect(units("𝛀𝛀")).toEqual([0, 0, 2, 2, 4, 4]);
    expect(units("")).toEqual([0, 0]);
  });
});

it("positions are ordered as pairs of numbers", () => {
  const inOrder = ["0-0", "0-9", "0-10", "1-0", "9-99", "10-0", "18446744073709551614-5", "18446744073709551615-0", "18446744073709551615-18446744073709551615"];
  for (const [i, a] of inOrder.entries()) {
    for (const [j, b] of inOrder.entries()) expect([a, b, Math.sign(comparePositions(a, b))]).toEqual([a, b, Math.sign(i - j)]);
  }
});
