// Using the desktop without a mouse.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { questionCard, until, waitForLink, waitForRow, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

/** Presses Tab until an element has the focus. */
async function tabTo(page: Page, selector: string, most = 60): Promise<void> {
  for (let n = 0; n < most; n++) {
    if (await page.evaluate((s) => document.activeElement?.matches(s) ?? false, selector)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${selector} cannot be reached with Tab`);
}

/** Whether the focused element shows its focus. */
async function focusIsVisible(page: Page): Promise<boolean> {
  return page.evaluate(() => {
    for (let at = document.activeElement; at !== null && at !== document.body; at = at.parentElement) {
      const s = getComputedStyle(at);
      if ((s.outlineStyle !== "none" && Number.parseFloat(s.outlineWidth) > 0) || s.boxShadow !== "none") return true;
    }
    return false;
  });
}

it("sign in, send messages, use the palette, windows, monitors, a question and the settings, all by keyboard", async () => {
  const session = await desktop.hub.rest.newSession("keys");
  const profile = await desktop.profile();
  const page = await profile.newPage();
  const { keyboard } = page;
  page.mouse.click = () => Promise.reject(new Error("there is no mouse"));

  await page.goto(`${desktop.hub.url}/login`);
  await tabTo(page, "input");
  await keyboard.insertText(new URL(desktop.hub.entry).searchParams.get("token")!);
  await keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname === "/");
  await page.goto(desktop.address(session));
  await waitForLink(page, "live");

  await tabTo(page, "[data-command-bar]");
  expect(await focusIsVisible(page)).toBe(true);
  await keyboard.type("/window one First | # One");
  await keyboard.press("Enter");
  await windowOf(page, "one").waitFor();
  await keyboard.type("/window two Second | # Two");
  await keyboard.press("Enter");
  await windowOf(page, "two").waitFor();

  await keyboard.press("Control+k");
  await page.locator("dialog[open]").waitFor();
  await keyboard.type("add a monitor");
  await keyboard.press("Enter");
  await page.locator('[role=tab][data-monitor-id="monitor-1"]').waitFor();
  const shown = (): Promise<string | null> => page.locator("[role=tab][data-monitor-id][aria-selected=true]").getAttribute("data-monitor-id");
  await keyboard.press("Alt+2");
  await until(shown).toBe("monitor-1");
  await keyboard.press("Alt+1");
  await until(shown).toBe("monitor-0");

  await keyboard.press("Alt+Backquote");
  await keyboard.press("Alt+Backquote");
  await until(() => page.evaluate(() => document.activeElement?.closest("section")?.getAttribute("data-window-id") ?? "")).toBe("one");
  expect(await focusIsVisible(page)).toBe(true);
  await keyboard.press("Alt+ArrowLeft");
  await until(async () => (await desktop.hub.rest.window(session, "one"))!.bounds.x).toBeLessThan(20);
  await tabTo(page, 'section[data-window-id="one"] button[aria-label="Close"]');
  await keyboard.press("Enter");
  await until(async () => (await desktop.hub.rest.window(session, "one")) === undefined).toBe(true);
  await windowOf(page, "one").waitFor({ state: "detached" });
  expect(await page.evaluate(() => document.activeElement !== document.body), "the focus goes somewhere").toBe(true);

  const regions = new Set<string>();
  for (let n = 0; n < 6; n++) {
    await keyboard.press("F6");
    regions.add(await page.evaluate(() => document.activeElement?.closest("[data-region]")?.getAttribute("data-region") ?? ""));
  }
  expect([...regions].filter((r) => r !== "").sort()).toEqual(["canvas", "dock", "drawer", "topbar"]);

  await desktop.hub.rest.runActions(session, [{ type: "dialog.confirm", id: "key", title: "By key?", message: "Press A." }]);
  await questionCard(page, "key").waitFor();
  const inQuestion = (): Promise<boolean> => page.evaluate(() => document.activeElement?.closest("dialog[data-ask-id]") != null);
  for (let n = 0; n < 6 && !(await inQuestion()); n++) await keyboard.press("F6");
  expect(await inQuestion()).toBe(true);
  // A letter answers only after the user has moved the focus into the question, and after a moment.
  await keyboard.press("Tab");
  await until(async () => {
    if (await inQuestion()) await keyboard.press("a");
    return questionCard(page).count();
  }).toBe(0);
  const closed = (await desktop.hub.rest.events(session)).filter((e) => e.type === "DIALOG_CLOSED");
  expect(closed.map((e) => e.data)).toMatchObject([{ confirmed: true }]);

  await keyboard.press("Control+k");
  await page.locator("dialog[open]").waitFor();
  await keyboard.type("settings");
  await keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Settings" }).waitFor();
  await tabTo(page, "input[name=theme]");
  for (let n = 0; n < 4 && (await page.evaluate(() => document.documentElement.dataset.theme)) !== "light"; n++) await keyboard.press("ArrowRight");
  await until(() => page.evaluate(() => document.documentElement.dataset.theme)).toBe("light");
  await keyboard.press("Escape");
  await until(() => page.locator("dialog[open]").count()).toBe(0);

  await tabTo(page, "[data-command-bar]");
  await keyboard.type("/say the end");
  await keyboard.press("Enter");
  await waitForRow(page, "the end");
});

it("Esc twice stops the running agent", async () => {
  const session = await desktop.hub.rest.newSession("stop");
  const page = await desktop.tab({ session });
  await page.locator("[data-command-bar]").focus();
  await page.keyboard.type("/hang");
  await page.keyboard.press("Enter");
  await page.locator("[data-agent]").first().waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await until(() => page.locator("[data-agent]").count()).toBe(0);
  await until(async () => ((await desktop.hub.rest.snapshot(session)).agents ?? []).filter((a) => a.status !== "idle").length).toBe(0);
});
