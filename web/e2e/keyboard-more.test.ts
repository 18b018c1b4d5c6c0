// The longer flows without a mouse: a press of a pointer fails the test.

import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import type { Prefs } from "../desktop/src/shell/prefs.js";
import { questionCard, shownWindows, until, waitForRow, waitUntilArmed, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

/** A tab on which a press of a pointer is an error, which the guard reports. */
async function keyboardTab(session: SessionID, prefs: Partial<Prefs> = {}): Promise<Page> {
  const profile = await desktop.profile(prefs);
  await profile.addInitScript(() => {
    for (const press of ["pointerdown", "mousedown"]) {
      addEventListener(press, () => { throw new Error("there is no mouse"); }, true);
    }
  });
  return desktop.tab({ session, profile });
}

/** Presses Tab until a button has the focus, then a key. */
async function pressButton(page: Page, button: Locator, key = "Enter"): Promise<void> {
  await button.waitFor();
  const reached = (): Promise<boolean> => button.evaluate((e) => e === document.activeElement);
  for (let n = 0; n < 150 && !(await reached()); n++) await page.keyboard.press("Tab");
  expect(await reached(), `${button} is reached with Tab`).toBe(true);
  await page.keyboard.press(key);
}

const press = (page: Page, selector: string, key = "Enter"): Promise<void> => pressButton(page, page.locator(selector).first(), key);

const inQuestion = (page: Page): Promise<boolean> => page.evaluate(() => document.activeElement?.closest("dialog[data-ask-id]") != null);

/** Moves the focus into the shown question. */
async function focusQuestion(page: Page): Promise<void> {
  for (let n = 0; n < 6 && !(await inQuestion(page)); n++) await page.keyboard.press("F6");
  expect(await inQuestion(page), "the focus is in the question").toBe(true);
}

/** Runs a command of the palette. */
async function command(page: Page, name: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await page.keyboard.type(name);
  await page.getByRole("option", { name, exact: true }).first().waitFor();
  await page.keyboard.press("Enter");
}

async function say(page: Page, text: string): Promise<void> {
  await page.keyboard.press("Escape");
  await page.locator("[data-command-bar]").focus();
  await page.keyboard.insertText(text);
  await page.keyboard.press("Enter");
}

/** The dialog of a panel; Escape closes it. */
async function closePanel(page: Page): Promise<void> {
  await page.keyboard.press("Escape");
  await until(() => page.locator("dialog:modal").count()).toBe(0);
}

it("the first screen opens a template, and the launcher installs and pins an app", async () => {
  const page = await keyboardTab(await desktop.hub.rest.newSession("first"), { toured: false });
  await press(page, "[data-template=trip]");
  await until(async () => (await shownWindows(page)).length).toBeGreaterThan(1);

  await page.keyboard.press("Alt+a");
  await press(page, "[data-install=notes]");
  await windowOf(page, "app-notes").waitFor();
  await page.keyboard.press("Alt+a");
  await page.locator("[data-launch=notes]").waitFor();
  await press(page, 'button[aria-label="Pin Notes beside the command bar"]');
  await until(() => page.locator('button[aria-label="Unpin Notes"]').count()).toBe(1);
  await closePanel(page);
  await press(page, "[data-pinned-app=notes]");
  await until(() => page.locator("section[data-window-id=app-notes][data-focused]").count()).toBe(1);
});

it("questions, the inbox, notifications, the files, the desktop menu and what agents may do alone are reached", async () => {
  const session = await desktop.hub.rest.newSession("reached");
  const page = await keyboardTab(session);
  await say(page, '/call system_set_config {"section":"hooks","event":"launch","label":"Morning","action":{"type":"interaction","payload":"good morning"}}');
  await questionCard(page).waitFor();
  await focusQuestion(page);
  const always = questionCard(page).getByRole("button", { name: "Always allow" });
  await waitUntilArmed(always);
  await pressButton(page, always);
  await until(() => questionCard(page).count()).toBe(0);
  await waitForRow(page, /Added hook|Morning/);

  await desktop.hub.rest.runActions(session, [{ type: "dialog.confirm", id: "later", title: "Much later?", message: "It would do something." }]);
  await page.keyboard.press("Alt+i");
  await page.locator("[data-ask=later]").waitFor();
  await closePanel(page);
  await desktop.hub.rest.runActions(session, [{ type: "notification.show", id: "n", title: "Tea is ready", body: "Now" }]);
  await page.keyboard.press("Alt+n");
  await page.locator("[data-notification-id=n]").getByText("Tea is ready").waitFor();
  await closePanel(page);
  await page.keyboard.press("Alt+o");
  await page.locator("[data-files-folder]").waitFor();
  await page.locator("main[data-region=canvas]").focus();
  await page.keyboard.press("Shift+F10");
  await page.getByRole("menuitem", { name: "New note", exact: true }).waitFor();
  await page.keyboard.press("Escape");

  await command(page, "What agents may do alone");
  const rules = page.getByRole("checkbox", { name: "Decide by these rules" });
  await pressButton(page, rules, "Space");
  await until(() => rules.isChecked()).toBe(true);
  await closePanel(page);
});

it("a plan is paused, resumed and cancelled, and a monitor is closed", async () => {
  const session = await desktop.hub.rest.newSession("plan");
  const page = await keyboardTab(session);
  await say(page, `/plan ${JSON.stringify({ todos: [{ id: "wait", task: "Wait; /hang" }] })}`);
  await questionCard(page).waitFor();
  await focusQuestion(page);
  await page.keyboard.press("Tab");
  await until(async () => {
    if (await inQuestion(page)) await page.keyboard.press("a");
    return questionCard(page).count();
  }).toBe(0);
  const panel = page.locator("[data-region=plan]");
  await pressButton(page, panel.getByRole("button", { name: "Pause", exact: true }));
  await pressButton(page, panel.getByRole("button", { name: "Go on", exact: true }));
  await panel.getByRole("button", { name: "Pause", exact: true }).waitFor();
  await pressButton(page, panel.getByRole("button", { name: "Cancel the plan", exact: true }));
  await pressButton(page, page.getByRole("dialog").getByRole("button", { name: "Cancel it", exact: true }));
  await page.locator("[data-region=plan][data-phase=cancelled]").waitFor();

  await command(page, "Add a monitor");
  await page.locator('[role=tab][data-monitor-id="monitor-1"]').waitFor();
  await press(page, 'button[aria-label="Menu of monitor 2"]');
  await page.getByRole("menuitem", { name: "Close" }).waitFor();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.locator('[role=tab][data-monitor-id="monitor-1"]').waitFor({ state: "detached" });
});
