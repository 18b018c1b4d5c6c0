import { expect, test } from "vitest";
import type { Text, Words } from "../../desktop/src/i18n/words.js";

// Every folder has its texts in a words.ts of its own.
const folders = Object.entries(import.meta.glob<{ default: Words<Record<string, Text>> }>("../src/**/words.ts", { eager: true }));

/** Names and signs that are the same in both. */
const names = ["CSV", "JSON", "p50", "p99"];

test("there are texts", () => {
  expect(folders.length).toBeGreaterThan(5);
});

test.each(folders)("%s says the same in both languages", (_, { default: w }) => {
  expect(Object.keys(w.ko).sort()).toEqual(Object.keys(w.en).sort());
  for (const [key, en] of Object.entries(w.en)) {
    const ko = w.ko[key]!;
    expect(typeof ko, key).toBe(typeof en);
    if (typeof en === "function" && typeof ko === "function") expect(ko.length, key).toBe(en.length);
    if (typeof en === "string") {
      expect(en.trim(), key).not.toBe("");
      expect(en, `${key} is English`).not.toMatch(/[가-힣]/);
      if (!names.includes(en)) expect(ko, `${key} is Korean`).toMatch(/[가-힣]/);
    }
  }
});

test.each(folders)("%s has no particle behind a variable", async (path) => {
  const source = (await import(/* @vite-ignore */ `${path}?raw`)) as { default: string };
  expect(source.default).not.toMatch(/\$\{[^}]*\}["'”’]?(?:은|는|이|가|을|를|와|과|로|으로)(?=[\s.,!?`])/);
});
