// A first visit: every step of the tour in a browser, including a killed hub.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { findViolations } from "./harness/axe.js";
import { centre, drag, questionCard, shownBounds, shownRows, shownWindows, titleBar, until, waitForLink, waitUntilArmed, windowOf } from "./harness/desktop-page.js";
import { desktopFixture, ready } from "./harness/fixture.js";

const desktop = desktopFixture();

const click = (page: Page, step: string): Promise<void> => page.locator(`[data-step=${step}] button`).click();

// Collapsed, the list shows one step only, but data-done always names the completed ones.
const done = (page: Page, step: string): Promise<void> => page.locator(`[data-done~=${step}]`).waitFor();

it("the whole tour: five clicks, a second tab, a detached monitor, a killed hub; and nothing is lost", async () => {
  desktop.guard.expectLostHub();
  const profile = await desktop.profile({ toured: false });
  const page = await profile.newPage();
  await page.goto(desktop.hub.entry);
  await ready(page);
  const session = new URL(page.url()).searchParams.get("session")!;
  const rest = desktop.hub.rest;

  await page.getByRole("heading", { level: 1 }).waitFor();
  await click(page, "windows");
  await done(page, "windows");
  expect((await shownWindows(page)).length).toBeGreaterThanOrEqual(2);

  const before = await shownWindows(page);
  await click(page, "form");
  await done(page, "form");
  const form = (await shownWindows(page)).find((id) => !before.includes(id))!;
  await windowOf(page, form).getByRole("textbox").first().fill("Ada");
  await windowOf(page, form).getByRole("textbox").first().press("Enter");
  await windowOf(page, form).getByText("Thank you!").waitFor();

  await click(page, "approval");
  await questionCard(page).waitFor();
  const yes = questionCard(page).getByRole("button", { name: /^delete/i });
  expect(await questionCard(page).getByRole("heading").first().innerText()).toBe("Delete 3 files permanently?");
  await waitUntilArmed(yes);
  await yes.click();
  await questionCard(page).getByText(/^Table/).first().click();
  const answer = questionCard(page).getByRole("button", { name: /^answer/i });
  await waitUntilArmed(answer);
  await answer.click();
  await done(page, "approval");
  const answers = (await rest.events(session)).filter((e) => e.type === "DIALOG_CLOSED" || e.type === "PROMPT_CLOSED");
  expect(answers.map((e) => e.type)).toEqual(["DIALOG_CLOSED", "PROMPT_CLOSED"]);

  await click(page, "plan");
  const working = async (): Promise<number> => ((await rest.snapshot(session)).agents ?? []).filter((a) => a.kind === "task").length;
  await until(working).toBeGreaterThanOrEqual(2);
  await page.locator("[data-agent]").first().waitFor();
  await done(page, "plan");

  await click(page, "background");
  const monitor = page.locator("[role=tab][data-monitor-id]").nth(1);
  await monitor.waitFor();
  await done(page, "background");
  const other = (await monitor.getAttribute("data-monitor-id"))!;
  await until(async () => ((await rest.snapshot(session)).windows ?? []).some((w) => w.monitorId === other)).toBe(true);

  const [second] = await Promise.all([profile.waitForEvent("page"), click(page, "secondTab")]);
  await ready(second);
  await done(page, "secondTab");
  const shown = await shownWindows(page);
  await until(() => shownWindows(second)).toEqual(shown);
  const some = (await page.locator("section[data-window-id][data-focused]:not([data-hidden])").getAttribute("data-window-id"))!;
  const undragged = await shownBounds(page, some);
  await page.bringToFront(); // where the person drags
  // Away from the nearer edges: only the tab of the person who drags draws a window partly outside.
  await drag(page, await centre(titleBar(page, some)), { x: undragged.x > 60 ? -40 : 40, y: undragged.y > 60 ? -30 : 30 });
  await until(async () => JSON.stringify(await shownBounds(page, some)) !== JSON.stringify(undragged)).toBe(true);
  await until(async () => ({ here: await shownBounds(page, some), there: await shownBounds(second, some) })).toSatisfy(
    (b: { here: unknown; there: unknown }) => JSON.stringify(b.here) === JSON.stringify(b.there),
  );

  const [own] = await Promise.all([profile.waitForEvent("page"), click(page, "ownTab")]);
  await ready(own);
  await until(() => own.locator("section[data-window-id]").count()).toBeGreaterThan(0);
  expect(await own.locator("section[data-window-id]").first().getAttribute("data-monitor-id")).toBe(other);

  const windows = (await rest.snapshot(session)).windows!;
  const rows = await shownRows(page);
  await desktop.hub.kill();
  await Promise.all([page, second, own].map((tab) => waitForLink(tab, "reconnecting")));
  await desktop.hub.up();
  await Promise.all([page, second, own].map((tab) => waitForLink(tab, "live")));
  await done(page, "restart");
  const after = (await desktop.hub.rest.snapshot(session)).windows!;
  expect(after).toEqual(windows);
  await until(() => shownWindows(page)).toEqual(shown);
  expect((await shownRows(page)).slice(0, rows.length).map((r) => r.text)).toEqual(rows.map((r) => r.text));
  await page.reload();
  await ready(page);
  await until(() => shownWindows(page)).toEqual(shown);
});

it("a skipped tour is not offered again", async () => {
  const profile = await desktop.profile({ toured: false });
  const page = await desktop.tab({ profile, session: await desktop.hub.rest.newSession() });
  await page.getByRole("button", { name: "Skip the tour" }).click();
  await until(() => page.locator("[data-step]").count()).toBe(0);
  await page.goto(desktop.address(await desktop.hub.rest.newSession()));
  await ready(page);
  await page.locator("[data-command-bar]").waitFor();
  expect(await page.locator("[data-step]").count()).toBe(0);
});

it("the progress of the tour follows the user to another browser", async () => {
  const steps = async (): Promise<unknown> => (await desktop.hub.rest.request<{ settings: { name: string; value: unknown }[] }>("GET", "/api/settings/values")).settings.find((s) => s.name === "tourSteps")?.value;
  await until(steps).toContain("closed");
  const elsewhere = await desktop.tab({ prefs: { toured: false }, session: await desktop.hub.rest.newSession() });
  await elsewhere.getByRole("heading", { level: 1 }).waitFor();
  expect(await elsewhere.locator("[data-step]").count()).toBe(0);
  await elsewhere.locator("[data-template=study]").click();
  await until(() => shownWindows(elsewhere)).toContain("study-cards");
  await windowOf(elsewhere, "app-timer").waitFor();
  await elsewhere.getByText("Study room").first().waitFor();
});

it("windows that the tour opens are completely visible on a small laptop", async () => {
  await desktop.hub.rest.request("PATCH", "/api/settings/values", { values: { tourSteps: [] } });
  const page = await desktop.tab({ prefs: { toured: false }, context: { viewport: { width: 1280, height: 720 } } });
  await click(page, "form");
  await done(page, "form");
  const save = windowOf(page, "form-1").getByRole("button", { name: "Save" });
  const room = (await page.locator("main").boundingBox())!;
  const window = (await windowOf(page, "form-1").boundingBox())!;
  expect(window.y + window.height).toBeLessThanOrEqual(room.y + room.height + 1);
  await save.scrollIntoViewIfNeeded();
  await save.click();
  await windowOf(page, "form-1").getByText("Thank you!").waitFor();
  // This hub would not come back, so the tour does not offer to kill it.
  const unfold = page.getByRole("button", { name: "Unfold the tour" });
  if (await unfold.isVisible()) await unfold.click();
  await page.locator("[data-step=restart]").waitFor();
  expect(await page.locator("[data-step=plug]").count()).toBe(0);
});

it("an empty desktop offers the sessions that were used last, with miniatures", async () => {
  const old = await desktop.hub.rest.newSession("Garden");
  await desktop.hub.rest.runActions(old, [{ type: "window.create", windowId: "beds", title: "Beds", bounds: { x: 10, y: 10, w: 300, h: 200 }, content: { renderer: "text", data: "beds" } }]);
  for (const [width, height] of [[1440, 900], [1024, 700], [390, 844]] as const) {
    const page = await desktop.tab({ session: await desktop.hub.rest.newSession("New"), context: { viewport: { width, height } } });
    const recent = page.locator(`[data-recent="${old}"]`);
    await recent.locator('[data-windows="1"]').waitFor({ state: "attached" });
    expect(await page.locator("[data-recent]").count(), `offers at ${width}×${height}`).toBeLessThanOrEqual(3);
    expect(await findViolations(page), `violations at ${width}×${height}`).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `fits ${width}×${height}`).toBe(true);
    await recent.press("Enter");
    await page.waitForURL((url) => url.searchParams.get("session") === old);
    if (width > 768) await windowOf(page, "beds").waitFor();
  }
});

it("the tour covers none of the windows that it opens", async () => {
  const screens = [[1024, 700], [1280, 720], [1440, 900]] as const;
  for (const [width, height] of screens) {
    await desktop.hub.rest.request("PATCH", "/api/settings/values", { values: { tourSteps: [] } });
    const page = await desktop.tab({ session: await desktop.hub.rest.newSession(), prefs: { toured: false }, context: { viewport: { width, height } } });
    await click(page, "windows");
    await done(page, "windows");
    await until(async () => (await shownWindows(page)).length).toBeGreaterThanOrEqual(5);
    // Also while windows arrive and the tour moves away from them.
    await until(() => coveredBy(page, ".tour-list")).toEqual([]);
    await page.close();
  }
});

/** The windows that an element intersects. A tucked tour is a single button. */
function coveredBy(page: Page, selector: string): Promise<string[]> {
  return page.evaluate((s) => {
    const at = document.querySelector(s);
    if (at === null) return ["there is no tour"];
    if (at.classList.contains("tour-tucked")) return [];
    const a = at.getBoundingClientRect();
    return [...document.querySelectorAll("section[data-window-id]:not([data-hidden])")].flatMap((w) => {
      const b = w.getBoundingClientRect();
      return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom ? [w.getAttribute("data-window-id")!] : [];
    });
  }, selector);
}
