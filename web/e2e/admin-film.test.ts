// The film of a session for admins.

import type { Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { rowOf } from "./harness/admin.js";
import { until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { Rest } from "./harness/rest.js";
import { Issuer } from "./harness/token.js";

const issuer = new Issuer();
const desktop = desktopFixture({ flags: issuer.flags });

afterAll(() => issuer.close());

/** Opens the details of a session in the admin page of a user. */
async function detailOf(session: string, user: string, ...roles: string[]): Promise<Page> {
  const page = await (await desktop.profile({}, { viewport: { width: 1440, height: 900 } })).newPage();
  await page.goto(`${desktop.hub.url}/admin`);
  await page.locator("input[name=token]").fill(issuer.token(user, ...roles));
  await page.keyboard.press("Enter");
  await page.locator("[data-link=live]").waitFor();
  await rowOf(page, session).locator("a").click();
  await page.locator("[data-watch-film]").waitFor();
  return page;
}

it("an admin who may see texts watches a session as a film, which grows, and the audit log has it", async () => {
  const ann = new Rest(desktop.hub.url, issuer.token("ann", "user"));
  const session = await ann.newSession("Plans");
  const said = async (text: string): Promise<void> => {
    await until(async () => JSON.stringify(await ann.events(session))).toContain(text);
  };
  await ann.sendMessage(session, "/window one First | # Number one\n/say opened one");
  await said("opened one");
  const page = await detailOf(session, "cora", "admin:read", "admin:content");
  await page.locator("[data-watch-film]").click();
  const film = page.locator('dialog.film[data-film="ready"]');
  const shown = film.locator("[data-film-window]");
  await film.locator('[data-film-window="one"]').getByText("Number one").waitFor();
  await until(() => film.locator(".film-conversation").innerText()).toContain("opened one");
  await ann.sendMessage(session, "/window two Second | # Number two\n/say opened two");
  await film.locator('[data-film-window="two"]').getByText("Number two").waitFor();
  await page.keyboard.press("Home");
  await until(() => shown.count()).toBe(0);
  await page.keyboard.press("End");
  await until(() => shown.count()).toBe(2);
  // It only shows: it has no buttons to go back, compare or share, and the admin does not join the session.
  expect(await film.locator(".film-controls button").count()).toBe(3);
  expect((await ann.snapshot(session)).windows?.length).toBe(2);
  await page.keyboard.press("Escape");
  await page.locator(`[data-session-page="${session}"]`).waitFor();
  await page.goto(`${desktop.hub.url}/admin/audit`);
  await page.getByText("session.film").first().waitFor();
});

it("an admin who may not see texts gets no film, and the reason", async () => {
  desktop.guard.expect(/status of 403/);
  const ann = new Rest(desktop.hub.url, issuer.token("ann", "user"));
  const session = await ann.newSession("Secret plans");
  await ann.sendMessage(session, "/window one Hidden | hidden text");
  const page = await detailOf(session, "rita", "admin:read");
  const button = page.locator("[data-watch-film]");
  expect(await button.getAttribute("aria-disabled")).toBe("true");
  expect(await button.getAttribute("title")).toContain("admin:content");
  await button.click({ force: true });
  expect(page.url()).toContain("/admin/sessions/");
  await page.goto(`${desktop.hub.url}/admin/film/${session}`);
  await page.locator('dialog.film[data-film="failed"]').getByText("admin:content").waitFor();
  expect(await page.locator("body").innerText()).not.toMatch(/hidden/i);
});
