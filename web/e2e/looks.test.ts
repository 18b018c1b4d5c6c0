// Accessibility of the desktop: axe checks every state, theme and language. Colours do not depend on the language, nor
// texts on the theme, so every theme in English and one theme in Korean cover all combinations.

import type { BrowserContextOptions, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import type { Prefs } from "../desktop/src/shell/prefs.js";
import { findViolations } from "./harness/axe.js";
import { showWindow } from "./harness/content.js";
import { questionCard, sendMessage, until, waitForRow, waitUntilArmed, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

const languages = ["en", "ko"] as const;
const themes = { en: ["dark", "light", "contrast"], ko: ["dark"] } as const;

/** A desktop with an instance of everything. */
async function fullDesktop(): Promise<SessionID> {
  const session = await desktop.hub.rest.newSession("furnished");
  await desktop.hub.rest.sendMessage(session, "/think hm\n/say # Hello\\n\\nA [link](https://example.org) and `code`.\\n\\n- [x] one\\n- [ ] two\n/call window_list {}");
  await desktop.hub.rest.sendMessage(session, "make a form: name, e-mail");
  await desktop.hub.rest.sendMessage(session, "show a table");
  await desktop.hub.rest.sendMessage(session, "/fail it broke");
  await until(async () => ((await desktop.hub.rest.snapshot(session)).windows ?? []).length).toBe(2);
  await desktop.hub.rest.runActions(session, [{ type: "notification.show", id: "note", title: "Build", body: "It is done." }]);
  return session;
}

async function open(session: SessionID, prefs: Partial<Prefs>, context: BrowserContextOptions = {}): Promise<Page> {
  const page = await desktop.tab({ session, prefs, context: { locale: prefs.language === "ko" ? "ko-KR" : "en-GB", ...context } });
  return page;
}

describe.each(languages)("in %s", (language) => {
  it.each(themes[language])("%s: desktop, palette, settings, help, inbox and a question", async (theme) => {
    const session = await fullDesktop();
    const page = await open(session, { language, theme });
    await windowOf(page, "form-1").waitFor();
    await showWindow(desktop.hub, session, page, "text", { renderer: "markdown", data: "# Text\n\n> quote\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nlet x = 1;\n```" });
    const found: Record<string, string[]> = {};
    const look = async (state: string): Promise<void> => {
      const bad = await findViolations(page);
      if (bad.length > 0) found[state] = bad;
    };
    await look("desktop");
    await page.keyboard.press("Control+k");
    await page.locator("dialog[open]").waitFor();
    await look("palette");
    await page.keyboard.press("Escape");
    await until(() => page.locator("dialog[open]").count()).toBe(0);
    await page.locator("main").focus();
    await page.keyboard.press("?");
    await page.locator("dialog[open]").waitFor();
    await look("help");
    await page.keyboard.press("Escape");
    await until(() => page.locator("dialog[open]").count()).toBe(0);
    const hook = { section: "hooks", event: "launch", label: "Greet", action: { type: "interaction", payload: "Say hello." } };
    await desktop.hub.rest.sendMessage(session, `/call system:set_config ${JSON.stringify(hook)}`);
    await questionCard(page).waitFor();
    await until(() => questionCard(page).locator("button:disabled").count()).toBe(0);
    await look("question");
    await questionCard(page).locator(".asks-later").click();
    await until(() => questionCard(page).filter({ visible: true }).count()).toBe(0);
    await page.keyboard.press("Control+k");
    await page.locator("dialog[open]").waitFor();
    await page.keyboard.type(language === "ko" ? "설정" : "settings");
    await page.keyboard.press("Enter");
    await page.locator("dialog[open] input[name=theme]").first().waitFor({ state: "attached" });
    await look("settings");
    await page.keyboard.press("Escape");
    await until(() => page.locator("dialog[open]").count()).toBe(0);
    await page.locator("header button:has(.icon-button-count)").first().click();
    await page.getByText(language === "ko" ? "자동 실행을 추가할까요?" : "Add a hook?").last().waitFor();
    await look("inbox");
    expect(found).toEqual({});
  });

  it("the tour", async () => {
    const page = await open(await desktop.hub.rest.newSession(), { language, theme: "light", toured: false });
    await page.locator("main button").first().waitFor();
    expect(await findViolations(page)).toEqual([]);
  });

  it("a phone", async () => {
    const session = await fullDesktop();
    const page = await open(session, { language, theme: "dark" }, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
    expect(await findViolations(page)).toEqual([]);
  });

  it("launcher, a board, a list, a table, the card of a plan and the film, also on a phone", { timeout: 180_000 }, async () => {
    const session = await desktop.hub.rest.newSession("panels");
    const page = await open(session, { language, theme: "dark" }, { viewport: { width: 1440, height: 900 } });
    const found: Record<string, string[]> = {};
    const look = async (state: string): Promise<void> => {
      const bad = await findViolations(page);
      if (bad.length > 0) found[state] = bad;
    };
    await sendMessage(page, "show a table");
    await sendMessage(page, "make a to-do list: milk, eggs");
    await windowOf(page, "todo-1").getByRole("checkbox").first().waitFor();
    await sendMessage(page, "open a kanban board: plan, build");
    await page.locator(".kanban-card").first().waitFor();
    await sendMessage(page, `/plan ${JSON.stringify({ todos: [{ id: "make", task: 'Make it; /call storage_write {"path":"report.md","content":"# R"}; /say made' }] })}`);
    const approve = questionCard(page).getByRole("button", { name: language === "ko" ? /^승인/ : /^approve/i });
    await waitUntilArmed(approve);
    await approve.click();
    await page.locator("[data-plan-end=complete]").waitFor();
    await page.keyboard.press("Alt+KeyT");
    await look("windows and the card of a plan");
    await page.locator("main").focus();
    await page.keyboard.press("Alt+a");
    await page.locator("dialog[open] [data-template=trip]").waitFor();
    await look("launcher");
    await page.keyboard.press("Escape");
    await until(() => page.locator("dialog[open]").count()).toBe(0);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.locator("[data-page=inbox]").waitFor(); // a busy page draws the layout for phones later
    await look("phone");
    await page.goto(`${desktop.address(session)}&film=1-1`);
    await page.locator('dialog.film[data-film="ready"]').waitFor();
    await look("film on a phone");
    await page.setViewportSize({ width: 1440, height: 900 });
    await look("film");
    expect(found).toEqual({});
  });

  it("the sign-in page", async () => {
    const profile = await desktop.profile({ language }, { locale: language === "ko" ? "ko-KR" : "en-GB" });
    const page = await profile.newPage();
    await page.goto(`${desktop.hub.url}/login`);
    await page.locator("input").first().waitFor();
    expect(await findViolations(page)).toEqual([]);
  });
});

it("axe finds violations that exist", async () => {
  const page = await open(await desktop.hub.rest.newSession(), { language: "en", theme: "light" });
  await page.evaluate(() => {
    const bad = document.createElement("p");
    bad.textContent = "hard to read";
    bad.style.cssText = "position: fixed; top: 60px; left: 20px; z-index: 99999; color: #eee; background: #fff";
    document.querySelector("main")!.append(bad, document.createElement("button"));
  });
  const found = await findViolations(page);
  expect(found.some((f) => f.startsWith("color-contrast"))).toBe(true);
  expect(found.some((f) => f.startsWith("button-name"))).toBe(true);
});

it("the conversation does not animate for users who prefer reduced motion", async () => {
  const page = await desktop.tab();
  await sendMessage(page, "/say calm");
  await waitForRow(page, "calm");
  const moving = await page.evaluate(() =>
    document.getAnimations().filter((a) => a.playState === "running" && Number(a.effect?.getComputedTiming().duration) > 1).length,
  );
  expect(moving).toBe(0);
});
