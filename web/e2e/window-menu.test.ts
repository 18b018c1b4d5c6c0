// The menu of a window, by keyboard only.

import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { showWindow } from "./harness/content.js";
import { titleBar, until, waitForRow, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

const text = "# Plan\n\nSome **words**.";

/** Opens the menu of a window with Shift+F10 and chooses an item with the arrow keys. */
async function choose(page: Page, id: string, item: string): Promise<void> {
  await titleBar(page, id).focus();
  await page.keyboard.press("Shift+F10");
  await page.locator(".win-menu [role=menuitem]").first().waitFor();
  const focused = (): Promise<string> => page.evaluate(() => (document.activeElement?.getAttribute("role") === "menuitem" ? (document.activeElement as HTMLElement).innerText.trim() : ""));
  for (let n = 0; n < 40 && (await focused()) !== item; n++) await page.keyboard.press("ArrowDown");
  expect(await focused(), "the item with the focus").toBe(item);
  await page.keyboard.press("Enter");
}

/** Chooses an item that saves a file; returns its name and text. */
async function saved(page: Page, item: string): Promise<{ name: string; text: string }> {
  const [download] = await Promise.all([page.waitForEvent("download"), choose(page, "plan", item)]);
  return { name: download.suggestedFilename(), text: await readFile(await download.path(), "utf8") };
}

it("a window is copied, saved, kept on top, duplicated, asked, shown full screen and moved, with the keyboard", async () => {
  const session = await desktop.hub.rest.newSession("menu");
  const profile = await desktop.profile();
  await profile.addInitScript(() => {
    const [copied, full]: string[][] = [[], []];
    Object.assign(globalThis, { copied, full });
    // A browser without a screen has no clipboard, and no full screen.
    Object.defineProperty(navigator, "clipboard", { value: { writeText: async (t: string) => void copied!.push(t) } });
    Object.defineProperty(document, "fullscreenEnabled", { value: true });
    Element.prototype.requestFullscreen = async function () {
      full!.push(this.getAttribute("data-window-id") ?? "");
    };
    for (const press of ["pointerdown", "mousedown"]) {
      addEventListener(press, () => { throw new Error("there is no mouse"); }, true);
    }
  });
  const page = await desktop.tab({ session, profile });
  await showWindow(desktop.hub, session, page, "plan", { renderer: "markdown", data: text }, { title: "The plan" });

  await choose(page, "plan", "Copy the content");
  await until(() => page.evaluate(() => (globalThis as unknown as { copied: string[] }).copied)).toEqual([text]);

  const markdown = await saved(page, "Save as MD");
  expect(markdown.name).toMatch(/\.md$/);
  expect(markdown.text).toBe(text);
  const html = await saved(page, "Save as HTML");
  expect(html.name).toMatch(/\.html$/);
  expect(html.text).toMatch(/<strong>words<\/strong>/);

  await showWindow(desktop.hub, session, page, "other", { renderer: "text", data: "Other" }, { bounds: { x: 140, y: 100, w: 420, h: 300 } });
  await choose(page, "plan", "Keep on top");
  await titleBar(page, "other").focus();
  const z = (id: string): Promise<number> => windowOf(page, id).evaluate((e) => Number(getComputedStyle(e).zIndex));
  await until(async () => (await z("plan")) > (await z("other"))).toBe(true);
  await choose(page, "plan", "No longer on top");

  await choose(page, "plan", "Duplicate");
  await windowOf(page, "plan-copy").getByRole("heading", { name: "Plan" }).waitFor();

  await choose(page, "plan", "Ask this window…");
  await page.getByRole("textbox", { name: "Ask the agent of The plan" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.type("/say I work for this window");
  await page.keyboard.press("Enter");
  await waitForRow(page, "I work for this window");

  await choose(page, "plan", "Full screen");
  await until(() => page.evaluate(() => (globalThis as unknown as { full: string[] }).full)).toEqual(["plan"]);

  await choose(page, "plan", "Move to a new monitor");
  await until(async () => (await desktop.hub.rest.snapshot(session)).windows!.filter((w) => w.windowId === "plan").map((w) => w.monitorId)).toEqual(["monitor-1"]);
  await page.keyboard.press("Alt+2");
  await windowOf(page, "plan").getByRole("heading", { name: "Plan" }).waitFor();
});
