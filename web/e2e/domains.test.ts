// The domains that a user has allowed are seen and taken back in the page.

import { expect, it } from "vitest";
import { findViolations } from "./harness/axe.js";
import { until, waitForLink } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

it("allowed domains are listed, added and taken back by keyboard", async () => {
  const session = await desktop.hub.rest.newSession("domains");
  const page = await desktop.tab({ session });
  await page.getByRole("button", { name: "Menu", exact: true }).click();
  await page.getByRole("menuitem", { name: "Allowed domains…" }).click();
  const panel = page.getByRole("dialog", { name: "Allowed domains" });
  await panel.getByText("No domain is allowed yet.").waitFor();
  const field = panel.getByLabel("Domain, without the ones below it");
  for (const name of ["API.Example.org", "news.example.com"]) {
    await field.fill(name);
    await page.keyboard.press("Enter");
    await panel.locator(`[data-domain="${name.toLowerCase()}"]`).waitFor();
  }
  expect(await findViolations(page), "violations of the panel").toEqual([]);

  // What is not a domain is refused with the reason, and the text stays.
  desktop.guard.expect(/400/);
  await field.fill("http://x/y");
  await page.keyboard.press("Enter");
  await panel.getByRole("alert").waitFor();
  expect(await field.inputValue()).toBe("http://x/y");

  const revoke = panel.getByRole("button", { name: "Do not allow api.example.org any more" });
  await revoke.focus();
  await page.keyboard.press("Enter");
  await panel.locator('[data-domain="api.example.org"]').waitFor({ state: "detached" });
  await until(() => panel.locator("[data-domain]").count()).toBe(1);
  await page.reload();
  await waitForLink(page, "live");
  await page.keyboard.press("ControlOrMeta+k");
  await page.getByRole("combobox").waitFor(); // the list of commands loads when it is first opened
  await page.keyboard.type("Allowed domains");
  await page.keyboard.press("Enter");
  await panel.locator('[data-domain="news.example.com"]').waitFor();
  expect(await panel.locator("[data-domain]").count()).toBe(1);
});
