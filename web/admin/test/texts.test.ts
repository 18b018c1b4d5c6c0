import { expect, test } from "vitest";
import type { Text, Texts } from "../../desktop/src/i18n/texts.js";
import * as texts from "../src/texts.js";
import source from "../src/texts.ts?raw";

const catalogues: [string, Texts<Record<string, Text>>][] = Object.entries(texts);

/** Names and symbols that are the same in both languages. */
const names = ["CSV", "JSON", "p50", "p99"];

test.each(catalogues)("%s: every text exists in English and in Korean", (_, { en, ko }) => {
  for (const [key, english] of Object.entries(en)) {
    const korean = ko[key]!;
    if (typeof english === "function" && typeof korean === "function") expect(korean.length, key).toBe(english.length);
    if (typeof english === "string") {
      expect(english.trim(), key).not.toBe("");
      expect(english, `${key} is English`).not.toMatch(/[가-힣]/);
      if (!names.includes(english)) expect(korean, `${key} is Korean`).toMatch(/[가-힣]/);
    }
  }
});

test("no Korean particle follows a variable", () => {
  expect(source).not.toMatch(/\$\{[^}]*\}["'”’]?(?:은|는|이|가|을|를|와|과|로|으로)(?=[\s.,!?`])/);
});
