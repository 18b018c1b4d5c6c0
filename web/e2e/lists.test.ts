// The launcher and the list of sessions.

import type { Locator } from "playwright-core";
import { expect, it } from "vitest";
import { findViolations } from "./harness/axe.js";
import { shownWindows, until, waitForLink, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

// First, because templates install apps.
it("every app of the market has a picture of its own, also in its window, the dock and the overview", async () => {
  const session = await desktop.hub.rest.newSession("pictures");
  const page = await desktop.tab({ session });
  await page.keyboard.press("Alt+a");
  const offers = page.locator("[data-install]");
  const pictures = (): Promise<string[]> => offers.locator("img").evaluateAll((all) => all.filter((i) => (i as HTMLImageElement).complete && (i as HTMLImageElement).naturalWidth > 0).map((i) => (i as HTMLImageElement).src));
  await until(async () => new Set(await pictures()).size).toBe(11);
  expect(await offers.count(), "offers").toBe(11);
  const hues = await offers.locator(".launcher-tile").evaluateAll((all) => all.map((t) => t.className));
  expect(new Set(hues).size, "colours of 11 apps").toBe(11);

  await page.locator("[data-install=notes]").click();
  const bar = windowOf(page, "app-notes").locator("[data-title-bar]");
  const shown = (at: Locator): Promise<boolean> => at.locator("img").evaluateAll((all) => all.length === 1 && (all[0] as HTMLImageElement).naturalWidth > 0);
  await until(() => shown(bar)).toBe(true);
  await page.keyboard.press("Alt+w");
  await until(() => shown(page.locator("[data-overview]"))).toBe(true);
  await page.keyboard.press("Escape");
  await bar.getByRole("button", { name: "Minimise" }).click();
  await until(() => shown(page.locator('[data-dock-window="app-notes"]'))).toBe(true);
});

it("the launcher finds and opens a template by keyboard, and says what it does not have", async () => {
  const page = await desktop.tab();
  await page.keyboard.press("Alt+a");
  const panel = page.getByRole("dialog", { name: "Apps and templates" });
  const search = panel.getByRole("searchbox", { name: "Search apps and templates" });
  await search.waitFor();
  await panel.locator("[data-template=trip]").waitFor();
  await until(() => panel.getByText("Looking for apps…").count()).toBe(0);
  expect(await findViolations(page), "violations of the launcher").toEqual([]);
  await search.fill("no such thing");
  await panel.getByText("Nothing has that name.").waitFor();
  await search.fill("trip planner");
  await until(() => panel.locator("[data-template]").count()).toBe(1);
  await page.keyboard.press("Enter");
  await panel.waitFor({ state: "detached" });
  await until(async () => (await shownWindows(page)).length).toBeGreaterThan(1);
});

it("a hub without Jupyter says why it cannot run notebooks, in the launcher and in the window of a notebook", async () => {
  const session = await desktop.hub.rest.newSession("off");
  const page = await desktop.tab({ session });
  const reason = "Notebooks cannot run code on this hub: its operator has to start it with --jupyter auto or --jupyter-url";
  await page.keyboard.press("Alt+a");
  await page.getByRole("searchbox", { name: "Search apps and templates" }).fill("notebook");
  await page.locator("[data-launch=notebook]").click();
  await page.getByText(reason).first().waitFor();
  expect(await shownWindows(page)).toEqual([]);
  await desktop.hub.rest.request("PUT", `/api/sessions/${session}/notebooks/n`, { nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [{ cell_type: "code", source: "1", metadata: {}, outputs: [], execution_count: null }] });
  await windowOf(page, "n").getByText(reason).waitFor();
});

it("the list of sessions creates, finds by a window, renames and deletes sessions by keyboard", async () => {
  const [first, second] = [await desktop.hub.rest.newSession("Alpha"), await desktop.hub.rest.newSession("Beta")];
  await desktop.hub.rest.runActions(second, [
    { type: "window.create", windowId: "w", title: "Quarterly figures", bounds: { x: 10, y: 10, w: 300, h: 200 }, content: { renderer: "text", data: "hi" } },
  ]);
  const page = await desktop.tab({ session: first });
  const panel = page.getByRole("dialog", { name: "Sessions" });
  const open = async (): Promise<void> => {
    await page.keyboard.press("ControlOrMeta+k");
    await page.getByRole("combobox").waitFor();
    await page.keyboard.type("show your sessions");
    await page.getByRole("option", { name: "Show your sessions", exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await panel.locator(`[data-session-id="${first}"]`).waitFor();
  };
  await open();
  expect(await panel.locator("[aria-current]").getAttribute("data-session-id")).toBe(first);
  await panel.locator(`[data-session-id="${second}"]`).getByText("1 window").waitFor();
  expect(await findViolations(page), "violations of the list").toEqual([]);
  const search = panel.getByRole("searchbox");
  await search.fill("quarterly");
  await until(() => panel.locator("[data-session-id]").count()).toBe(1);
  expect(await panel.locator("[data-session-id]").getAttribute("data-session-id")).toBe(second);
  await search.fill("nothing like it");
  await panel.getByText("No session has that in its title, windows or conversation.").waitFor();
  await search.fill("");

  // A word of the conversation, which no window and no title has.
  await desktop.hub.rest.sendMessage(second, "/say the word is xylophone");
  await until(async () => (await desktop.hub.rest.request<{ sessions: unknown[] }>("GET", "/api/sessions?q=xylophone")).sessions.length).toBe(1);
  await search.fill("XYLOPHONE");
  await panel.locator(`[data-session-id="${second}"] q`).getByText("the word is xylophone").waitFor();
  expect(await panel.locator("[data-session-id]").count(), "sessions with that word").toBe(1);
  await search.fill("");

  await panel.getByRole("button", { name: "Rename: Beta" }).focus();
  await page.keyboard.press("Enter");
  await panel.getByLabel("Name of the session", { exact: true }).fill("Gamma");
  await page.keyboard.press("Enter");
  await panel.getByRole("button", { name: "Delete: Gamma" }).focus();
  await page.keyboard.press("Enter");
  const sure = panel.getByRole("alertdialog", { name: "Delete “Gamma” forever?" });
  await sure.waitFor();
  await page.keyboard.press("Escape");
  await sure.waitFor({ state: "detached" });
  await panel.getByRole("button", { name: "Delete: Gamma" }).click();
  await sure.getByRole("button", { name: "Delete forever" }).focus();
  await page.keyboard.press("Enter");
  await panel.locator(`[data-session-id="${second}"]`).waitFor({ state: "detached" });

  await panel.getByLabel("Name of the new session (optional)").fill("Delta");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("session") !== first);
  await waitForLink(page, "live");
  await open();
  await panel.locator("[aria-current]").getByText("Delta").waitFor();
});
