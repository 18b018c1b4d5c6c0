// The modes of agents: chosen, added, changed and deleted in the page.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { findViolations } from "./harness/axe.js";
import { until, waitForLink } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

const modeName = (page: Page): Promise<string> => page.locator(".topbar-mode-name").innerText();

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
  await until(() => modeName(page)).toBe("No mode");

  await openMenu(page);
  expect(await page.locator("[role=menu]").innerText()).toContain("Look for faults.");
  expect(await findViolations(page), "violations of the menu").toEqual([]);
  for (let n = 0; n < 3; n++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await until(() => modeName(page)).toBe("Ask");
  await until(() => modeName(korean)).toBe("질문");
  expect((await desktop.hub.rest.snapshot(session)).agentMode).toMatchObject({ id: "ask", toolProfile: "read" });

  await page.keyboard.press("Control+k");
  await page.keyboard.insertText("mode review");
  await page.locator('[data-entry="mode.review"][aria-selected=true]').waitFor();
  await page.keyboard.press("Enter");
  await until(() => modeName(page)).toBe("Review");

  desktop.guard.expectLostHub();
  await desktop.hub.kill();
  await desktop.hub.up();
  await waitForLink(page, "live");
  await page.reload();
  await until(() => modeName(page)).toBe("Review");
  await openMenu(page);
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await until(() => modeName(page)).toBe("No mode");
});

/** Opens the panel of the modes from the menu. */
async function openPanel(page: Page): Promise<void> {
  await openMenu(page);
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.locator("dialog[open] [data-modes=add]").waitFor();
}

it("a user adds, changes and deletes a mode; a change in another tab is reported and the typed text stays", async () => {
  const session = await desktop.hub.rest.newSession("own modes");
  const page = await desktop.tab({ session });
  const { rest } = desktop.hub;
  await openPanel(page);
  expect(await findViolations(page), "violations of the list").toEqual([]);
  await page.locator("[data-modes=add]").press("Enter");
  await page.keyboard.insertText("Test writer");
  await page.keyboard.press("Tab");
  await page.keyboard.insertText("Write tests first.");
  await page.locator("select[name=modeTools]").selectOption("show");
  await page.getByLabel("Own rules").press("Space");
  expect(await findViolations(page), "violations of the form").toEqual([]);
  await page.locator("[data-modes=save]").press("Enter");
  const row = page.locator('.models-row[data-mode="test-writer"]');
  await row.waitFor();
  await row.getByRole("button", { name: "Use" }).press("Enter");
  await until(() => modeName(page)).toBe("Test writer");
  expect((await rest.snapshot(session)).agentMode).toMatchObject({ id: "test-writer", toolProfile: "show", ownRules: true });

  await row.getByRole("button", { name: "Change" }).press("Enter");
  await page.locator("textarea[name=modeInstructions]").fill("Write tests last.");
  await page.route("**/api/modes/test-writer", async (route) => {
    await rest.request("PUT", "/api/modes/test-writer", { name: "Test writer", instructions: "From elsewhere." });
    await route.continue();
  }, { times: 1 });
  desktop.guard.expect(/409/);
  await page.locator("[data-modes=save]").press("Enter");
  await page.locator(".models-problem[role=alert]").waitFor();
  expect(await page.locator("textarea[name=modeInstructions]").inputValue()).toBe("Write tests last.");
  await page.locator("[data-modes=save]").press("Enter");
  await row.waitFor();
  expect(await row.innerText()).toContain("Write tests last.");

  await row.getByRole("button", { name: "Delete" }).press("Enter");
  await page.locator("[data-modes=remove]").press("Enter");
  await row.waitFor({ state: "detached" });
  await until(() => modeName(page)).toBe("Test writer");
});

it("the owner writes instructions of the session, and other tabs have them", async () => {
  const session = await desktop.hub.rest.newSession("instructions");
  const page = await desktop.tab({ session });
  const other = await desktop.tab({ session });
  await openPanel(page);
  await openPanel(other);
  await page.locator("textarea[name=sessionInstructions]").fill("Answer in verse.");
  await page.locator("[data-modes=save-instructions]").press("Enter");
  await page.getByText("Saved.").waitFor();
  await until(() => other.locator("textarea[name=sessionInstructions]").inputValue()).toBe("Answer in verse.");
  expect((await desktop.hub.rest.snapshot(session)).instructions).toBe("Answer in verse.");
});

it("an invited device sees the mode and cannot change it", async () => {
  const session = await desktop.hub.rest.newSession("shared");
  const page = await desktop.tab({ session });
  await openMenu(page);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await until(() => modeName(page)).toBe("Code");
  const { url } = await page.evaluate(async (of) => (await fetch("/api/join-tickets", { method: "POST", body: JSON.stringify({ session: of }), headers: { "Content-Type": "application/json" } })).json() as Promise<{ url: string }>, session);
  const guest = await (await desktop.profile()).newPage();
  await guest.goto(url);
  await guest.getByRole("button", { name: "Join", exact: true }).click();
  await until(() => modeName(guest)).toBe("Code");
  expect(await guest.locator("button.topbar-mode").count()).toBe(0);
  expect(await findViolations(guest), "violations of the guest's page").toEqual([]);
});
