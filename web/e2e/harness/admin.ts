// Helpers for tests of the admin page.

import type { Locator, Page } from "playwright-core";
import type { SessionID } from "../../core/src/index.js";
import type { Prefs } from "../../desktop/src/shell/prefs.js";
import { until } from "./desktop-page.js";
import type { DesktopFixture } from "./fixture.js";
import type { Rest } from "./rest.js";

/** Opens the admin page in a signed-in profile. */
export async function openAdminPage(desktop: DesktopFixture, path = "", prefs: Partial<Prefs> = {}): Promise<Page> {
  const profile = await desktop.profile(prefs, { viewport: { width: 1440, height: 900 }, locale: prefs.language === "ko" ? "ko-KR" : "en-GB" });
  await desktop.signIn(profile);
  const page = await profile.newPage();
  await page.goto(`${desktop.hub.url}/admin${path}`);
  await page.locator("[data-link=live]").waitFor();
  return page;
}

/** The row of a session in the table. */
export function rowOf(page: Page, session: string): Locator {
  return page.locator(`[role=row][data-session="${session}"]`);
}

/** Waits until the table has all sessions. */
export async function waitForTable(page: Page, sessions: number): Promise<void> {
  await page.locator(`.sessions-count[data-all="${sessions}"]`).waitFor();
}

/** Enters the reason in the dialog of an admin action and runs it; returns the id of the audit record. */
export async function confirmAction(page: Page, reason: string): Promise<string> {
  const dialog = page.locator("dialog[open]");
  await dialog.locator("textarea[name=reason]").fill(reason);
  await dialog.locator("[data-go]").click();
  const outcome = dialog.locator("[data-outcome=done]");
  await outcome.waitFor();
  return (await outcome.locator(".mono").innerText()).split(" ").at(-1)!;
}

/**
 * Sends the first message of a session and waits until its agent has started. Before that the agent has no slot: a
 * second message could take the last slot instead of waiting.
 */
export async function sendAndWaitForStart(rest: Rest, session: SessionID, content: string): Promise<void> {
  await rest.sendMessage(session, content);
  await until(async () => (await rest.events(session)).map((e) => e.type)).toContain("taskStarted");
}
