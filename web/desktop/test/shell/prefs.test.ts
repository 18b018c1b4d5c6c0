import { expect, test } from "vitest";
import { languageOf } from "../../src/i18n/texts.js";
import { keepPrefs, prefsKey, readPrefs } from "../../src/shell/prefs.js";

test("preferences survive storing", () => {
  const kept = new Map<string, string>();
  const prefs = { theme: "contrast", language: "ko", notify: true, pointer: false, toured: true, wallpaper: "dusk", accent: "rose" } as const;
  keepPrefs(prefs, { getItem: () => null, removeItem: () => undefined, setItem: (k, v) => void kept.set(k, v) });
  expect(readPrefs(kept.get(prefsKey)!)).toEqual(prefs);
});

test.each([null, "", "null", "[]", "7", "{", '{"theme":"pink","language":1,"notify":"yes","toured":{},"wallpaper":"cats","accent":1}'])("invalid values in %j give the defaults", (text) => {
  expect(readPrefs(text)).toEqual({ theme: "system", language: "system", notify: false, pointer: true, toured: false, wallpaper: "aurora", accent: "teal" });
});

test("a full or forbidden storage does not stop the page", () => {
  const setItem = (): void => {
    throw new Error("full");
  };
  expect(() => keepPrefs(readPrefs(null), { getItem: () => null, removeItem: () => undefined, setItem })).not.toThrow();
});

test.each([
  ["system", ["ko-KR", "en"], "ko"],
  ["system", ["fr", "ko"], "ko"],
  ["system", ["en-US", "ko"], "en"],
  ["system", ["de"], "en"],
  ["system", [], "en"],
  ["ko", ["en"], "ko"],
  ["en", ["ko"], "en"],
] as const)("%s of %j is %s", (chosen, browser, language) => {
  expect(languageOf(chosen, browser)).toBe(language);
});
