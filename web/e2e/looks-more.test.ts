// Accessibility of looks other than the default: accents, wallpapers, themes of single panels, dialogs; also on a phone.

import type { BrowserContextOptions, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { accents, wallpapers } from "../desktop/src/shell/account.js";
import type { Prefs } from "../desktop/src/shell/prefs.js";
import { findViolations } from "./harness/axe.js";
import { sendMessage, until, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

const phone: BrowserContextOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

async function open(session: SessionID, prefs: Partial<Prefs>, context: BrowserContextOptions = {}): Promise<Page> {
  return desktop.tab({ session, prefs, context: { locale: prefs.language === "ko" ? "ko-KR" : "en-GB", ...context } });
}

/** A function that looks for violations, and what it found by state. */
function collect(page: Page): { found: Record<string, string[]>; look: (state: string) => Promise<void> } {
  const found: Record<string, string[]> = {};
  const look = async (state: string): Promise<void> => {
    const bad = await findViolations(page);
    if (bad.length > 0) found[state] = bad;
  };
  return { found, look };
}

/** Runs a command of the palette. */
async function run(page: Page, command: string): Promise<void> {
  await page.keyboard.press("ControlOrMeta+k");
  await page.getByRole("combobox").fill(command);
  await page.keyboard.press("Enter");
}

it("accents and wallpapers, in every theme", { timeout: 240_000 }, async () => {
  const session = await desktop.hub.rest.newSession("colours");
  const page = await open(session, { language: "en", theme: "dark" }, { viewport: { width: 1440, height: 900 } });
  await sendMessage(page, "show a table");
  await sendMessage(page, "make a to-do list: milk, eggs");
  await windowOf(page, "todo-1").getByRole("checkbox").first().waitFor();
  await run(page, "Settings");
  await page.locator("dialog[open] input[name=theme]").first().waitFor({ state: "attached" });
  const { found, look } = collect(page);
  const settings = page.locator("dialog[open]");
  for (const accent of accents) {
    await settings.locator(`input[name=accent][value=${accent}]`).check({ force: true });
    await until(() => page.evaluate(() => document.documentElement.dataset.accent)).toBe(accent);
    await look(`settings, ${accent}`);
    await page.evaluate(() => {
      document.documentElement.dataset.theme = "contrast";
    });
    await look(`settings, ${accent}, high contrast`);
    await page.evaluate(() => {
      document.documentElement.dataset.theme = "dark";
    });
  }
  for (const wallpaper of wallpapers) {
    await settings.locator(`input[name=wallpaper][value=${wallpaper}]`).check({ force: true });
    await page.locator(`.app-wall.wall-${wallpaper}`).waitFor({ state: "attached" });
    await page.keyboard.press("Escape");
    await until(() => page.locator("dialog[open]").count()).toBe(0);
    await look(`desktop, ${wallpaper}`);
    await run(page, "Settings");
    await settings.locator("input[name=wallpaper]").first().waitFor({ state: "attached" });
  }
  expect(found).toEqual({});
});

describe.each(["en", "ko"] as const)("in %s", (language) => {
  it("light: launcher, a board, the film, the page to connect a model, servers, and the Files window with its dialog", { timeout: 240_000 }, async () => {
    const session = await desktop.hub.rest.newSession("light");
    const page = await open(session, { language, theme: "light" }, { viewport: { width: 1440, height: 900 } });
    const { found, look } = collect(page);
    await sendMessage(page, "open a kanban board: plan, build");
    await page.locator(".kanban-card").first().waitFor();
    await look("board");
    await page.locator("main").focus();
    await page.keyboard.press("Alt+a");
    await page.locator("dialog[open] [data-template=trip]").waitFor();
    await look("launcher");
    await page.keyboard.press("Escape");
    for (const [name, ready] of [
      [language === "ko" ? "모델 연결" : "Connect a model", ".models-new input"],
      [language === "ko" ? "MCP 서버" : "MCP servers", ".servers-add textarea"],
    ] as const) {
      await until(() => page.locator("dialog[open]").count()).toBe(0);
      await run(page, name);
      await page.locator(`dialog[open] ${ready}`).first().waitFor({ state: "attached" });
      await look(name);
      await page.keyboard.press("Escape");
    }
    await until(() => page.locator("dialog[open]").count()).toBe(0);
    await desktop.hub.rest.sendMessage(session, `/task code Do it; /call storage_write ${JSON.stringify({ path: "report.md", content: "# R" })}`);
    await page.locator("[data-files-icon]").press("Enter"); // the board may cover it
    await page.locator('[data-entry="report.md"] .files-name').waitFor();
    await look("Files window");
    await page.locator('[data-entry="report.md"] .files-name').press("F2");
    await page.locator(".files-rename input").waitFor();
    await look("rename a file");
    await page.keyboard.press("Escape");
    await page.goto(`${desktop.address(session)}&film=1-1`);
    await page.locator('dialog.film[data-film="ready"]').waitFor();
    await look("film");
    expect(found).toEqual({});
  });

  it("a light phone: conversation, windows, inbox and launcher", { timeout: 120_000 }, async () => {
    const session = await desktop.hub.rest.newSession("light phone");
    await desktop.hub.rest.sendMessage(session, "show a table");
    await desktop.hub.rest.sendMessage(session, "/fail it broke");
    await until(async () => ((await desktop.hub.rest.snapshot(session)).windows ?? []).length).toBe(1);
    await desktop.hub.rest.runActions(session, [{ type: "dialog.confirm", id: "later", title: "Go on?", message: "It is easy." }]);
    const page = await open(session, { language, theme: "light" }, phone);
    const { found, look } = collect(page);
    await page.locator("dialog[data-ask-id] .asks-later").tap();
    await until(() => page.locator("dialog[data-ask-id]").filter({ visible: true }).count()).toBe(0);
    for (const to of ["chat", "windows", "inbox"]) {
      await page.locator(`[data-page=${to}]`).tap();
      await look(to);
    }
    expect(found).toEqual({});
  });
});
