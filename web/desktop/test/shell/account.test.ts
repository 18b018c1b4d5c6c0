import { expect, test } from "vitest";
import { accountOf, wallpapers } from "../../src/shell/account.js";

const values = (all: Record<string, unknown>) => ({ settings: Object.entries(all).map(([name, value]) => ({ name, value, source: "user" })) });

test("the settings of the user that the page uses", () => {
  const all = { wallpaper: "tide", accentColor: "rose", tourSteps: ["form", "closed"], pinnedApps: ["notes"] };
  expect(accountOf(values({ ...all, language: "ko" }))).toEqual(all);
});

test("values of other programs and missing ones give the defaults", () => {
  const defaults = { wallpaper: wallpapers[0], accentColor: "teal", tourSteps: [], pinnedApps: [] };
  expect(accountOf(values({}))).toEqual(defaults);
  expect(accountOf(values({ wallpaper: "https://example.org/x.png", accentColor: "#123456", tourSteps: "form", pinnedApps: [7] }))).toEqual(defaults);
});
