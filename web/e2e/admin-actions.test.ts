// Admin actions on sessions from the admin page, with two hubs on one Redis, and their effects.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { confirmAction, openAdminPage, sendAndWaitForStart } from "./harness/admin.js";
import { until, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { Hub } from "./harness/hub.js";

// With one agent at a time, further messages are queued.
const flags = ["--max-agents", "1", "--replica-id"];
const desktop = desktopFixture({ redis: true, flags: [...flags, "hub-a"] });
let second: Hub;

beforeAll(async () => {
  second = await Hub.start({ redis: desktop.hub.redis!, flags: [...flags, "hub-b"] });
});

afterAll(() => second.stop());

const ofSession = (session: SessionID): Promise<Page> => openAdminPage(desktop, `/sessions/${session}`);

async function ownerOf(session: SessionID): Promise<string> {
  return (await desktop.hub.rest.request<{ row: { owner?: string } }>("GET", `/api/admin/sessions/${session}`)).row.owner ?? "";
}

it("a session is handed over to another replica, and its open tab continues", async () => {
  const session = await desktop.hub.rest.newSession("Moves");
  await desktop.hub.rest.sendMessage(session, "/window note Note | text");
  const tab = await desktop.tab({ session });
  await windowOf(tab, "note").waitFor();
  expect(await ownerOf(session)).toBe("hub-a");
  const page = await ofSession(session);
  await page.locator("[data-admin-action=handOver][aria-disabled=false]").click();
  await page.locator("dialog[open] select").selectOption("hub-b");
  await confirmAction(page, "hub-a is full.");
  await page.keyboard.press("Escape");
  expect(await ownerOf(session)).toBe("hub-b");
  await page.locator("[data-key$='hub-b']").waitFor();
  await desktop.hub.rest.sendMessage(session, "/window other Other | text");
  await windowOf(tab, "other").waitFor();
  await windowOf(tab, "note").waitFor();
});

it("a queued message is cancelled and never reaches an agent", async () => {
  const session = await desktop.hub.rest.newSession("Queue");
  await sendAndWaitForStart(desktop.hub.rest, session, "/nosteer\n/hang");
  await desktop.hub.rest.sendMessage(session, "/window wrong Wrong | this must not be");
  await desktop.hub.rest.sendMessage(session, "/window right Right | this may");
  const page = await ofSession(session);
  const queued = page.locator("[data-monitor=monitor-0] tr[data-key]");
  await until(() => queued.count()).toBe(2);
  await queued.filter({ hasText: "must not" }).locator("[data-admin-action=cancel]").click();
  await confirmAction(page, "It was a mistake.");
  await page.keyboard.press("Escape");
  await until(() => queued.count()).toBe(1);
  await page.locator("[data-monitor=monitor-0] [data-admin-action=interruptMonitor]").click();
  await page.locator("dialog[open] textarea:focus").waitFor(); // so that one can type at once
  await confirmAction(page, "It hangs.");
  await until(() => desktop.hub.rest.window(session, "right").then((w) => w?.title)).toBe("Right");
  expect(await desktop.hub.rest.window(session, "wrong")).toBeUndefined();
});

it("a tab at another hub is closed, and stays closed", async () => {
  desktop.guard.allowOrigin(second.url);
  desktop.guard.allowOrigin(second.appsUrl);
  const session = await desktop.hub.rest.newSession("Two tabs");
  const stays = await desktop.tab({ session });
  const goes = await (await desktop.profile()).newPage();
  await goes.goto(second.entry);
  await goes.goto(`${second.url}/?session=${session}`);
  await goes.locator("[data-link=live]").first().waitFor();
  const page = await ofSession(session);
  const tabs = page.locator("tr[data-key^=conn]");
  await until(() => tabs.count()).toBe(2);
  await tabs.filter({ hasText: "hub-b" }).locator("[data-admin-action=closeTab]").click();
  await confirmAction(page, "It is on a lost laptop.");
  await page.keyboard.press("Escape");
  await goes.locator("[data-link=live]").first().waitFor({ state: "detached" });
  await until(() => tabs.count()).toBe(1);
  expect(await tabs.innerText()).toContain("hub-a");
  await desktop.hub.rest.sendMessage(session, "/window note Note | text");
  await windowOf(stays, "note").waitFor();
  expect(await windowOf(goes, "note").count(), "it hears nothing any more").toBe(0);
});

it("a session is reset only after typing the end of its id; the audit log has all actions and verifies", async () => {
  const session = await desktop.hub.rest.newSession("Starts again");
  await desktop.hub.rest.sendMessage(session, "/window note Note | text");
  const tab = await desktop.tab({ session });
  await windowOf(tab, "note").waitFor();
  const page = await ofSession(session);
  await page.locator("[data-admin-action=reset]").click();
  const dialog = page.locator("dialog[open]");
  await dialog.locator("textarea[name=reason]").fill("It is full of old things.");
  await dialog.locator("input[name=confirm]").fill("wrong!");
  expect(await dialog.locator("[data-go]").isDisabled()).toBe(true);
  await dialog.locator("input[name=confirm]").fill(session.slice(-6));
  const record = await confirmAction(page, "It is full of old things.");
  await windowOf(tab, "note").waitFor({ state: "detached" });
  expect(await desktop.hub.rest.window(session, "note")).toBeUndefined();
  await dialog.getByRole("button", { name: "Show the audit" }).click();
  await page.locator(`[data-record="${record}"][data-result=done]`).waitFor();
  for (const action of ["session.handover", "message.cancel", "tab.close", "session.reset"]) await page.locator(`[data-action="${action}"]`).first().waitFor();
  await page.locator("[data-verify]").click();
  await page.getByText(/The chain is whole/).waitFor();
});
