// The mode of a session: chosen in the page without a mouse, shown in every tab.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { findViolations } from "./harness/axe.js";
import { until, waitForLink } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

const chip = (page: Page): Promise<string> => page.locator(".topbar-mode-name").innerText();

/** Opens the menu of the mode with the keyboard. */
async function openMenu(page: Page): Promise<void> {
  await page.locator("button.topbar-mode").focus();
  await page.keyboard.press("Enter");
  await page.locator("[role=menu] [data-mode=debug]").waitFor();
}

it("the owner chooses a mode with the keyboard and in the palette; other tabs and a restarted hub show it", async () => {
  const session = await desktop.hub.rest.newSession("modes");
  await desktop.hub.rest.request("PUT", "/api/modes/review", { name: "Review", instructions: "Look for faults. Name them.", toolProfile: "read" });
  const page = await desktop.tab({ session });
  const korean = await desktop.tab({ session, prefs: { language: "ko" } });
  await until(() => chip(page)).toBe("No mode");

  await openMenu(page);
  expect(await page.locator("[role=menu]").innerText()).toContain("Look for faults.");
  expect(await findViolations(page), "violations of the menu").toEqual([]);
  for (let n = 0; n < 3; n++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await until(() => chip(page)).toBe("Ask");
  await until(() => chip(korean)).toBe("질문");
  expect((await desktop.hub.rest.snapshot(session)).agentMode).toMatchObject({ id: "ask", toolProfile: "read" });

  await page.keyboard.press("Control+k");
  await page.keyboard.insertText("mode review");
  await page.locator('[data-entry="mode.review"][aria-selected=true]').waitFor();
  await page.keyboard.press("Enter");
  await until(() => chip(page)).toBe("Review");

  await desktop.hub.kill();
  await desktop.hub.up();
  await waitForLink(page, "live");
  await page.reload();
  await until(() => chip(page)).toBe("Review");
  await openMenu(page);
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await until(() => chip(page)).toBe("No mode");
});
