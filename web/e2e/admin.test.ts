// The admin page: finding, reading and acting, with real hubs and one Redis.

import { expect, it } from "vitest";
import { confirmAction, openAdminPage, rowOf, waitForTable } from "./harness/admin.js";
import { until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { Hub } from "./harness/hub.js";

const desktop = desktopFixture({ redis: true, flags: ["--replica-id", "hub-a", "--stalled-after", "5s"] });

/** The working agents of a session. */
async function workingAgents(session: string): Promise<string[]> {
  return ((await desktop.hub.rest.snapshot(session)).agents ?? []).filter((a) => a.status !== "idle").map((a) => a.role);
}

it("a stalled session is found and opened, its agent is interrupted, and the audit log shows it", async () => {
  const session = await desktop.hub.rest.newSession("Hangs");
  await desktop.hub.rest.newSession("Fine");
  await desktop.hub.rest.sendMessage(session, "/say I begin\n/hang");
  await until(() => workingAgents(session)).toHaveLength(1);
  const page = await openAdminPage(desktop);
  await rowOf(page, session).waitFor();
  await page.locator("[data-filter=stuck]").click();
  expect(page.url()).toMatch(/\/admin\?stuck=true$/);
  // A session counts as stalled after 5 s without an event.
  await page.locator(`[role=row][data-session="${session}"][data-status=stalled]`).waitFor();
  expect(await page.locator(".grid-line").count(), "the other one does not fit").toBe(1);
  await page.locator("[data-alert=stalled] button").waitFor();

  await page.locator("[role=grid]").focus();
  await page.keyboard.press("Enter");
  await page.locator(`[data-session-page="${session}"]`).waitFor();
  expect(page.url()).toMatch(new RegExp(`/admin/sessions/${session}$`));
  const agent = page.locator("[data-agent]").filter({ has: page.locator("[data-admin-action=interruptAgent]") });
  await agent.waitFor();
  await page.locator(".tail-line").first().waitFor();
  const types = (): Promise<string[]> => page.locator("[data-event]").evaluateAll((all) => [...new Set(all.map((e) => e.getAttribute("data-event")!))]);
  const [some] = await types();
  await page.locator("input[name=tail-type]").fill(some!);
  await page.locator("input[name=tail-type]").press("Enter");
  await until(types).toEqual([some]);
  await page.locator(".tail-line").first().click();
  expect(JSON.parse(await page.locator(".tail-event pre").innerText())).toMatchObject({ type: some });

  await agent.locator("[data-admin-action=interruptAgent]").click();
  expect(await page.locator("dialog[open] [data-go]").isDisabled(), "a reason is wanted").toBe(true);
  // The field has the focus: the space in a typed reason presses no button.
  await page.locator("dialog[open] textarea:focus").waitFor();
  await page.keyboard.type("It hangs ");
  expect(await page.locator("dialog[open] textarea[name=reason]").inputValue()).toBe("It hangs ");
  const record = await confirmAction(page, "It hangs since this morning.");
  await until(() => workingAgents(session)).toEqual([]);

  await page.locator("dialog[open]").getByRole("button", { name: "Show the audit" }).click();
  const records = page.locator(`[data-record="${record}"]`).filter({ hasText: "It hangs since this morning." }).filter({ hasText: session });
  await records.first().waitFor();
  expect(await page.locator(`[data-record="${record}"][data-result=done]`).count()).toBe(1);
  await page.locator("[data-verify]").click();
  await page.getByText(/The chain is whole/).waitFor();

  await page.goBack();
  await page.locator(`[data-session-page="${session}"]`).waitFor();
  await page.goBack();
  await until(() => page.url()).toMatch(/\/admin\?stuck=true$/);
  await until(() => page.locator(".grid-line").count()).toBe(0);
});

it("filter and order are in the address: another tab and a reload show the same", async () => {
  const [one, two] = [await desktop.hub.rest.newSession("Needle in it"), await desktop.hub.rest.newSession("Needle too")];
  await desktop.hub.rest.sendMessage(one, "/ask Which? | this | that");
  const page = await openAdminPage(desktop);
  await page.locator("input[name=text]").fill("needle");
  await until(() => page.url()).toContain("text=needle");
  await rowOf(page, one).waitFor();
  await rowOf(page, two).waitFor();
  await page.locator("[data-filter=questions]").click();
  await until(() => page.locator(".grid-line").count()).toBe(1);
  await page.locator("[data-sort=user]").click();
  const address = page.url();
  expect(new URL(address).search).toBe("?text=needle&questions=true&sort=user");
  await page.reload();
  await rowOf(page, one).waitFor();
  expect(page.url()).toBe(address);
  expect(await page.locator(".grid-line").count()).toBe(1);
  expect(await page.locator("[data-filter=questions]").getAttribute("aria-pressed")).toBe("true");
  expect(await page.locator("[role=columnheader][aria-sort=ascending]").innerText()).toBe("User");

  // A saved view restores it.
  await page.locator(".views summary").click();
  await page.locator("input[name=view]").fill("Mine");
  await page.locator(".views form button").click();
  await page.getByRole("button", { name: "Clear" }).click();
  await until(() => page.url()).not.toContain("needle");
  await page.locator(".views-go").click();
  await until(() => page.url()).toBe(address);

  // A paused table does not change.
  await page.locator("[data-pause]").click();
  await desktop.hub.rest.request("DELETE", `/api/sessions/${one}`);
  const other = await openAdminPage(desktop, "?text=needle");
  await rowOf(other, two).waitFor();
  await until(() => rowOf(other, one).count()).toBe(0);
  expect(await rowOf(page, one).count()).toBe(1);
  await page.locator("[data-pause]").click();
  await until(() => rowOf(page, one).count()).toBe(0);
});

it("the shown rows are exported as CSV and as JSON", async () => {
  const session = await desktop.hub.rest.newSession("=Saved, as it is");
  const page = await openAdminPage(desktop, `?text=${session}`);
  await rowOf(page, session).waitFor();
  const saved = async (name: string): Promise<string> => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
    expect(download.suggestedFilename()).toBe(`sessions.${name.toLowerCase()}`);
    return (await (await download.createReadStream()).toArray()).join("");
  };
  expect(await saved("CSV")).toContain(`\r\n${session},`);
  expect(await saved("CSV")).toContain(`"'=Saved, as it is"`);
  expect(JSON.parse(await saved("JSON"))).toMatchObject([{ sessionId: session, title: "=Saved, as it is" }]);
});

it("a replica is drained and undrained from the page", async () => {
  const second = await Hub.start({ redis: desktop.hub.redis!, flags: ["--replica-id", "hub-b"] });
  try {
    const page = await openAdminPage(desktop);
    const card = page.locator("[data-replica=hub-b]");
    await card.locator("[data-admin-action=drain]").click();
    await confirmAction(page, "A new version comes.");
    await page.keyboard.press("Escape");
    await page.locator("[data-replica=hub-b]:not([data-state=serving])").waitFor();
    await card.locator("[data-admin-action=undrain]").click();
    await confirmAction(page, "It was the wrong one.");
    await page.keyboard.press("Escape");
    await page.locator("[data-replica=hub-b][data-state=serving]").waitFor();
    expect(await page.locator("[data-replica=hub-a]").getAttribute("data-state")).toBe("serving");
  } finally {
    await second.stop();
  }
});

it("a session is deleted only after typing the end of its id", async () => {
  const session = await desktop.hub.rest.newSession("Goes away");
  const page = await openAdminPage(desktop, `/sessions/${session}`);
  await page.locator("[data-admin-action=remove]").click();
  const dialog = page.locator("dialog[open]");
  await dialog.locator("textarea[name=reason]").fill("Its owner asked for it.");
  expect(await dialog.locator("[data-go]").isDisabled()).toBe(true);
  await dialog.locator("input[name=confirm]").fill("wrong!");
  expect(await dialog.locator("[data-go]").isDisabled()).toBe(true);
  await dialog.locator("input[name=confirm]").fill(session.slice(-6));
  await confirmAction(page, "Its owner asked for it.");
  await until(() => desktop.hub.rest.request("GET", `/api/sessions/${session}`).then(() => "there", () => "gone")).toBe("gone");
});

it("a page that lost its hub says so, and shows everything again after the hub is back", async () => {
  desktop.guard.expectLostHub();
  const session = await desktop.hub.rest.newSession("Stays");
  const page = await openAdminPage(desktop);
  await rowOf(page, session).waitFor();
  await desktop.hub.kill();
  await page.locator("[data-link=reconnecting]").waitFor();
  await page.getByText(/What you see is old/).waitFor();
  expect(await rowOf(page, session).count(), "the table stands").toBe(1);
  await desktop.hub.up();
  const later = await desktop.hub.rest.newSession("Comes");
  await page.locator("[data-link=live]").waitFor();
  await rowOf(page, later).waitFor();
});

it("a user who is not signed in is told how to sign in", async () => {
  desktop.guard.expect(/401/);
  const page = await (await desktop.profile()).newPage();
  await page.goto(`${desktop.hub.url}/admin`);
  await page.getByText(/sign in/i).first().waitFor();
  expect(await page.locator("[role=grid]").count()).toBe(0);
});

it("an empty table says so", async () => {
  const page = await openAdminPage(desktop, "?text=nothing-has-this-name");
  await page.getByText("No session fits these filters.").waitFor();
  await waitForTable(page, Number(await page.locator(".sessions-count").getAttribute("data-all")));
});
