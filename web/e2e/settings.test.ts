// The settings of the user: made from the catalogue of the hub, saved one by one, shared by tabs, all by keyboard.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { accountNames } from "../desktop/src/shell/account.js";
import { until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const folder = mkdtempSync(join(tmpdir(), "everdesk-e2e-pins-"));
const pins = join(folder, "pins.yaml");
writeFileSync(pins, "iconSize: large\n");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const allowed = join(realpathSync(folder), "projects");
const project = join(allowed, "shop");
mkdirSync(project, { recursive: true });
writeFileSync(join(project, "AGENTS.md"), "Prices are in cents.\n");
mkdirSync(join(project, ".agents/skills/till"), { recursive: true });
writeFileSync(join(project, ".agents/skills/till/SKILL.md"), "---\nname: till\ndescription: How to count the till.\n---\nCount twice.\n");

const desktop = desktopFixture({ flags: ["--pinned-settings", pins, "--workspaces", allowed] });

/** Opens the settings with the palette. */
async function openSettings(page: Page, word: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.insertText(word);
  await page.keyboard.press("Enter");
  await page.locator("[data-settings=ready]").waitFor();
}

const row = (page: Page, name: string): Locator => page.locator(`form[data-setting="${name}"]`);
const field = (page: Page, name: string): Locator => row(page, name).locator("input, textarea, select");

/** Replaces the text of a setting with the keyboard, and saves it with Enter if asked to. */
async function type(page: Page, name: string, text: string, save: boolean): Promise<void> {
  await field(page, name).focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
  if (save) await page.keyboard.press("Enter");
}

const stored = async (name: string): Promise<unknown> => {
  const { settings } = (await desktop.hub.rest.request("GET", "/api/settings/values")) as { settings: { name: string; value: unknown }[] };
  return settings.find((s) => s.name === name)?.value;
};

it("every setting is in the form; values are saved one by one, reach other tabs, and a conflict keeps the typed text", async () => {
  const page = await desktop.tab();
  const other = await desktop.tab({ prefs: { language: "ko" } });
  await openSettings(page, "settings");
  await openSettings(other, "설정");
  const { settings } = (await desktop.hub.rest.request("GET", "/api/settings/values")) as { settings: { name: string }[] };
  const inForm = settings.filter((s) => !accountNames.includes(s.name)); // the others have controls of their own
  expect(await page.locator("form[data-setting]").count()).toBe(inForm.length);
  expect(await other.locator("section.settings h3").innerText()).toBe("계정 설정");

  // What the operator has pinned cannot be changed.
  expect(await field(page, "iconSize").isDisabled()).toBe(true);
  expect(await field(page, "iconSize").inputValue()).toBe("large");
  expect(await row(page, "iconSize").innerText()).toContain("set by the operator");

  // Enter saves a text; the other tab shows it.
  await type(page, "userName", "Ada", true);
  await until(() => field(other, "userName").inputValue()).toBe("Ada");
  expect(await stored("userName")).toBe("Ada");
  await until(() => row(page, "userName").locator("button[type=submit]").count()).toBe(0);

  // A switch saves at once.
  await field(page, "onboardingCompleted").focus();
  await page.keyboard.press("Space");
  await until(() => field(other, "onboardingCompleted").isChecked()).toBe(false);

  // A value that is not valid has its reason beside it and blocks nothing else.
  await type(page, "language", "", true);
  await row(page, "language").locator("[role=alert]").waitFor();
  expect(await row(page, "language").locator("[role=alert]").innerText()).toContain("at least 1");
  expect(await field(page, "language").getAttribute("aria-invalid")).toBe("true");

  // A change in another tab keeps the typed text and says so; saving again replaces it.
  await type(page, "userName", "Grace", false);
  await type(other, "userName", "Lin", true);
  await row(page, "userName").locator("[data-problem=conflict]").waitFor();
  expect(await row(page, "userName").locator("[data-problem=conflict]").innerText()).toContain("Lin");
  expect(await field(page, "userName").inputValue()).toBe("Grace");
  await field(page, "userName").focus();
  await page.keyboard.press("Enter");
  await until(() => field(other, "userName").inputValue()).toBe("Grace");
  await until(() => row(page, "userName").locator("[data-problem]").count()).toBe(0);

  // Back to the default.
  await row(page, "userName").getByRole("button", { name: "Return to the default" }).focus();
  await page.keyboard.press("Enter");
  await until(() => field(other, "userName").inputValue()).toBe("");
  expect(await stored("userName")).toBe("");
});

it("a wallpaper and an accent follow the user to another browser", async () => {
  const page = await desktop.tab();
  await openSettings(page, "settings");
  await page.locator("input[name=wallpaper][value=dusk]").check({ force: true });
  await page.locator("input[name=accent][value=violet]").check({ force: true });
  await page.locator(".app-wall.wall-dusk").waitFor({ state: "attached" });
  const accent = (p: Page): Promise<string | undefined> => p.evaluate(() => document.documentElement.dataset.accent);
  expect(await accent(page)).toBe("violet");
  await until(() => stored("accentColor")).toBe("violet");
  const elsewhere = await desktop.tab();
  await elsewhere.locator(".app-wall.wall-dusk").waitFor({ state: "attached" });
  await until(() => accent(elsewhere)).toBe("violet");
});

it("a session gets a folder of the operator with the keyboard, and other folders are refused with the reason", async () => {
  desktop.guard.expect(/status of 4\d\d/);
  const session = await desktop.hub.rest.newSession("shop");
  const page = await desktop.tab({ session });
  await openSettings(page, "settings");
  const panel = page.locator("[data-workspace]");
  await panel.waitFor();
  const choose = async (path: string): Promise<void> => {
    await panel.locator("input").focus();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(path);
    await page.keyboard.press("Enter");
  };
  expect(await panel.locator("option").evaluateAll((all) => all.map((o) => (o as HTMLOptionElement).value))).toEqual([allowed, project]);
  await choose("/etc");
  await panel.locator("[role=status]").getByText("That did not work").waitFor();
  expect(await panel.getAttribute("data-workspace")).toBe("");
  await choose(project);
  await page.locator(`[data-workspace="${project}"]`).waitFor();
  await panel.getByText("AGENTS.md").click();
  await panel.getByText("Prices are in cents.").waitFor();
  await panel.getByText("1 guide").click();
  await panel.getByText("till: How to count the till.").waitFor();
  // It is the session's: another tab has it, another session does not.
  const [same, other] = [await desktop.tab({ session }), await desktop.tab({ session: await desktop.hub.rest.newSession("other") })];
  await openSettings(same, "settings");
  await same.locator(`[data-workspace="${project}"]`).waitFor();
  await openSettings(other, "settings");
  await other.locator('[data-workspace=""]').waitFor();
  await choose("");
  await page.locator('[data-workspace=""]').waitFor();
});
