// What admins do on the monitor's page.

import type { Locator, Page } from "playwright-core";
import type { SessionID } from "../../core/src/index.js";
import type { Prefs } from "../../desktop/src/shell/prefs.js";
import type { Rest } from "./rest.js";
import type { Stage } from "./stage.js";
import { until } from "./verbs.js";

/** The monitor's page of somebody who is signed in. */
export async function monitor(desktop: Stage, path = "", prefs: Partial<Prefs> = {}): Promise<Page> {
  const profile = await desktop.profile(prefs, { viewport: { width: 1440, height: 900 }, locale: prefs.language === "ko" ? "ko-KR" : "en-GB" });
  await desktop.signIn(profile);
  const page = await profile.newPage();
  await page.goto(`${desktop.hub.url}/admin${path}`);
  await page.locator("[data-link=live]").waitFor();
  return page;
}

/** A session in the table. */
export function rowOf(page: Page, session: string): Locator {
  return page.locator(`[role=row][data-session="${session}"]`);
}

/** Waits until all sessions are in the table. */
export async function tableOf(page: Page, sessions: number): Promise<void> {
  await page.locator(`.sessions-count[data-all="${sessions}"]`).waitFor();
}

/** Gives the reason that a dialog asks for, and does what it is about. The answer is the id of the audit's record. */
export async function giveReason(page: Page, reason: string): Promise<string> {
  const dialog = page.locator("dialog[open]");
  await dialog.locator("textarea[name=reason]").fill(reason);
  await dialog.locator("[data-go]").click();
  const outcome = dialog.locator("[data-outcome=done]");
  await outcome.waitFor();
  return (await outcome.locator(".mono").innerText()).split(" ").at(-1)!;
}

/**
 * Says the first thing in a session and waits until its agent has begun. An agent that is about to begin has no slot yet:
 * what is said meanwhile may get the last one, and would not wait.
 */
export async function sayAndBegin(rest: Rest, session: SessionID, content: string): Promise<void> {
  await rest.say(session, content);
  await until(async () => (await rest.events(session)).map((e) => e.type)).toContain("taskStarted");
}
