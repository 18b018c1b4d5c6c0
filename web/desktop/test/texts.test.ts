import { expect, test } from "vitest";
import type { Text, Texts } from "../src/i18n/texts.js";

type Catalogue = Texts<Record<string, Text>>;

const modules = import.meta.glob<Record<string, Catalogue>>("../src/texts/*.ts", { eager: true });
const sources = import.meta.glob<string>("../src/texts/*.ts", { eager: true, query: "?raw", import: "default" });
const catalogues: [string, Catalogue][] = Object.values(modules).flatMap((module) => Object.entries(module));

test.each(catalogues)("%s: every text exists in English and in Korean", (_, { en, ko }) => {
  for (const [key, english] of Object.entries(en)) {
    const korean = ko[key]!;
    if (typeof english === "function" && typeof korean === "function") expect(korean.length, key).toBe(english.length);
    if (typeof english === "string") {
      expect(english.trim(), key).not.toBe("");
      expect(String(korean).trim(), key).not.toBe("");
      expect(english, `${key} is English`).not.toMatch(/[가-힣]/);
      // Names and symbols are the same in both languages.
      if (/[a-z]{4}/.test(english) && korean === english) expect(["Everdesk", "Markdown"], key).toContain(english);
    }
  }
});

test.each(Object.entries(sources))("%s: no Korean particle follows a variable", (_, source) => {
  expect(source).not.toMatch(/\$\{[^}]*\}["'”’]?(?:은|는|이|가|을|를|와|과|로|으로|이?라고|이?라는)(?=[\s.,!?`])/);
});

test.each(Object.entries(sources))("%s: no Korean text leaves the choice of a particle to the reader", (_, source) => {
  expect(source).not.toMatch(/\((?:은|는|이|가|을|를|와|과|으)\)|[은이을과]\/[는가를와]|[는가를와]\/[은이을과]/);
});
