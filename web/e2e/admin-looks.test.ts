// Accessibility of the admin page: axe checks every page in every theme and language. Colours do not depend on the
// language, nor texts on the theme, so every theme in English and one theme in Korean cover all combinations.

import { describe, expect, it } from "vitest";
import { openAdminPage, rowOf } from "./harness/admin.js";
import { findViolations } from "./harness/axe.js";
import { until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture({ redis: true });

const themes = { en: ["dark", "light", "contrast"], ko: ["dark"] } as const;

describe.each(["en", "ko"] as const)("in %s", (language) => {
  it.each(themes[language])("%s: table, session, dialog, audit", async (theme) => {
    const session = await desktop.hub.rest.newSession("Looked at");
    await desktop.hub.rest.sendMessage(session, "/window note Note | text\n/ask Which? | this | that");
    // A turn that waits for a question accepts no steering, so the next message is queued.
    await until(async () => (await desktop.hub.rest.snapshot(session)).prompts?.length).toBe(1);
    await desktop.hub.rest.sendMessage(session, "this waits");
    const page = await openAdminPage(desktop, "", { language, theme });
    const found: Record<string, string[]> = {};
    const look = async (state: string): Promise<void> => {
      const bad = await findViolations(page);
      if (bad.length > 0) found[state] = bad;
    };
    await rowOf(page, session).waitFor();
    expect(await page.evaluate(() => [document.documentElement.lang, document.documentElement.dataset.theme])).toEqual([language, theme]);
    await look("table");
    await page.locator(".views summary").click();
    await look("views");
    await page.locator("header button").last().click();
    await page.locator("[role=menu]").waitFor();
    await look("menu");
    await page.keyboard.press("Escape");
    await page.locator(".views summary").click();
    await rowOf(page, session).locator("a").click();
    await page.locator("[data-admin-action=cancel]").waitFor();
    await page.locator(".tail-line").first().click();
    await look("session");
    await page.locator("[data-admin-action=reset]").click();
    await page.locator("dialog[open]").waitFor();
    await look("dialog");
    await page.keyboard.press("Escape");
    await until(() => page.locator("dialog[open]").count()).toBe(0);
    await page.goto(`${desktop.hub.url}/admin/audit`);
    await page.locator("[data-verify]").click();
    await page.locator("h1").waitFor();
    await look("audit");
    expect(found).toEqual({});
  });
});
