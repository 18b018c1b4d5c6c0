// What agents may do alone: rules set in the page decide which commands run without asking.

import { expect, it } from "vitest";
import { questionCard, sendMessage, until, waitForRow, waitUntilArmed } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

it("git status runs alone, git push asks, and a denied command does neither", async () => {
  const session = await desktop.hub.rest.newSession("alone");
  const page = await desktop.tab({ session });
  await page.getByRole("button", { name: "Menu", exact: true }).click();
  await page.getByRole("menuitem", { name: "What agents may do alone…" }).click();
  const panel = page.getByRole("dialog", { name: "What agents may do alone" });
  await panel.getByRole("checkbox", { name: "Decide by these rules" }).check();
  await panel.getByRole("checkbox", { name: "Run commands" }).check();
  await panel.getByRole("textbox", { name: "Commands that may run" }).fill("git status\nls");
  await panel.getByRole("textbox", { name: "Commands that may never run" }).fill("rm");
  const tester = panel.getByRole("textbox", { name: "Try a command" });
  for (const [line, verdict] of [
    ["git status -s", /Runs alone.*git status/s],
    ["git push", /Asks.*git push/s],
    ["ls && rm -r x", /Refused.*rm/s],
  ] as const) {
    await tester.fill(line);
    await until(() => panel.locator("output").innerText()).toMatch(verdict);
  }
  await panel.getByRole("button", { name: "Save for this session" }).click();
  await until(() => panel.count()).toBe(0);
  await until(async () => (await desktop.hub.rest.events(session)).filter((e) => e.type === "AUTO_APPROVAL_CHANGED").length).toBe(1);

  await sendMessage(page, '/call shell {"command":"git status"}');
  await waitForRow(page, /allowed it/);
  expect(await questionCard(page).count()).toBe(0);
  await sendMessage(page, '/call shell {"command":"rm -r x"}');
  await waitForRow(page, /rules of this session deny it/);
  expect(await questionCard(page).count()).toBe(0);
  await sendMessage(page, '/call shell {"command":"git push"}');
  const reject = questionCard(page).getByRole("button", { name: /^(reject|deny|no|cancel)/i }).first();
  await waitUntilArmed(reject);
  expect(await questionCard(page).innerText()).toContain("git push");
  await reject.click();
  await waitForRow(page, /user said no/);

  const other = await desktop.tab({ session });
  await other.getByRole("button", { name: "Menu", exact: true }).click();
  await other.getByRole("menuitem", { name: "What agents may do alone…" }).click();
  await until(() => other.getByRole("textbox", { name: "Commands that may run" }).inputValue()).toBe("git status\nls");
});

it("a session follows the default of its user until it has rules of its own, and again afterwards", async () => {
  const first = await desktop.tab({ session: await desktop.hub.rest.newSession("first") });
  await first.getByRole("button", { name: "Menu", exact: true }).click();
  await first.getByRole("menuitem", { name: "What agents may do alone…" }).click();
  const panel = first.getByRole("dialog", { name: "What agents may do alone" });
  await until(() => panel.getByText("This session follows your default.").count()).toBe(1);
  await panel.getByRole("checkbox", { name: "Decide by these rules" }).check();
  await panel.getByRole("checkbox", { name: "Run commands" }).check();
  await panel.getByRole("textbox", { name: "Commands that may run" }).fill("git status");
  await panel.getByRole("button", { name: "Save as my default" }).click();
  await until(() => first.getByText("Your sessions without rules of their own follow it.").count()).toBeGreaterThan(0);

  const session = await desktop.hub.rest.newSession("second");
  const page = await desktop.tab({ session });
  await sendMessage(page, '/call shell {"command":"git status"}');
  await waitForRow(page, /allowed it/);
  await page.getByRole("button", { name: "Menu", exact: true }).click();
  await page.getByRole("menuitem", { name: "What agents may do alone…" }).click();
  const other = page.getByRole("dialog", { name: "What agents may do alone" });
  await until(() => other.getByRole("textbox", { name: "Commands that may run" }).inputValue()).toBe("git status");
  await other.getByRole("checkbox", { name: "Decide by these rules" }).uncheck();
  await other.getByRole("button", { name: "Save for this session" }).click();
  await until(() => other.count()).toBe(0);
  await page.getByRole("button", { name: "Menu", exact: true }).click();
  await page.getByRole("menuitem", { name: "What agents may do alone…" }).click();
  await other.getByRole("button", { name: "Follow my default" }).click();
  await until(() => other.count()).toBe(0);
  await until(async () => (await desktop.hub.rest.events(session)).filter((event) => event.type === "AUTO_APPROVAL_CHANGED").length).toBe(2);
});
