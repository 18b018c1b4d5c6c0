// The time machine: the life of a session as a film, and going back in it.

import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { findViolations } from "./harness/axe.js";
import { sendMessage, shownWindows, until, waitForRow, windowOf } from "./harness/desktop-page.js";
import { dropFiles, storedFile } from "./harness/files.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

const film = (page: Page): Locator => page.locator('dialog.film[data-film="ready"]');
const filmWindow = (page: Page, id: string): Locator => film(page).locator(`[data-film-window="${id}"]`);
const position = async (page: Page): Promise<number> => Number(await film(page).locator("[data-film-position]").getAttribute("data-film-position"));

/** The words of the conversation beside the film. */
const said = async (page: Page): Promise<string> => film(page).locator(".film-conversation").innerText();

/** Opens the film with the command palette, by keyboard. */
async function openFilm(page: Page): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await page.keyboard.type("watch what happened");
  await page.getByRole("option", { name: "Watch what happened as a film" }).waitFor();
  await page.keyboard.press("Enter");
  await film(page).waitFor();
}

it("a session is watched as a film with the keyboard only, and other tabs do not notice", async () => {
  const session = await desktop.hub.rest.newSession("film");
  const [page, other] = [await desktop.tab({ session }), await desktop.tab({ session })];
  await sendMessage(page, "/window one First | # Number one\n/say opened one");
  await waitForRow(page, "opened one");
  await sendMessage(page, "/window two Second | # Number two\n/say opened two");
  await waitForRow(page, "opened two");
  await windowOf(page, "one").getByRole("button", { name: "Close" }).click();
  await windowOf(other, "one").waitFor({ state: "detached" });

  await openFilm(page);
  await until(() => position(page)).toBe(Number(await film(page).locator("[data-film-last]").getAttribute("data-film-last")));
  await filmWindow(page, "two").waitFor();
  await until(() => filmWindow(page, "one").count()).toBe(0);
  await until(() => said(page)).toContain("opened two");
  expect(await findViolations(page)).toEqual([]);

  await page.keyboard.press("Home");
  await until(() => film(page).locator("[data-film-window]").count()).toBe(0);
  await until(() => position(page)).toBe(0);
  // To the first message, then to the second: the first window is open, and the second is not yet.
  await page.keyboard.press("PageDown");
  await until(() => said(page)).toContain("/window one First");
  await page.keyboard.press("PageDown");
  await filmWindow(page, "one").getByText("Number one").waitFor();
  await until(() => filmWindow(page, "two").count()).toBe(0);
  await until(() => said(page)).not.toContain("Opened “Second”");
  const at = await position(page);
  await page.keyboard.press("ArrowLeft");
  await until(() => position(page)).toBe(at - 1);
  await page.keyboard.press("ArrowRight");
  // A moment with both windows.
  for (let n = 0; n < 200 && (await filmWindow(page, "two").count()) === 0; n++) await page.keyboard.press("ArrowRight");
  await until(() => filmWindow(page, "one").count()).toBe(1);

  // It plays to the end.
  await page.keyboard.press("Home");
  for (let n = 0; n < 5; n++) await page.keyboard.press("+");
  await page.keyboard.press(" ");
  await film(page).locator('[data-film-play="false"]').waitFor();
  await until(() => position(page)).toBeGreaterThan(at);
  await until(() => filmWindow(page, "one").count()).toBe(0);
  await filmWindow(page, "two").waitFor();

  expect(await shownWindows(other)).toEqual(["two"]);
  await page.keyboard.press("Escape");
  await page.locator("dialog.film").waitFor({ state: "detached" });
  expect(await shownWindows(page)).toEqual(["two"]);
});

it.each([
  [1024, 700],
  [1440, 900],
  [3840, 2160],
  [390, 844],
])("the film of a desktop fills the width beside the conversation at %i×%i", async (width, height) => {
  const session = await desktop.hub.rest.newSession("size");
  const bounds = (x: number, y: number): object => ({ x, y, w: 400, h: 300 });
  await desktop.hub.rest.runActions(session, [
    { type: "window.create", windowId: "one", title: "One", bounds: bounds(20, 20), content: { renderer: "markdown", data: "# One" } },
    { type: "window.create", windowId: "two", title: "Two", bounds: bounds(700, 480), content: { renderer: "markdown", data: "# Two" } },
  ] as never);
  const page = await desktop.tab({ session, context: { viewport: { width, height } } });
  await page.goto(`${desktop.address(session)}&film=9999999999999-1`);
  await filmWindow(page, "two").waitFor();
  const box = async (selector: string): Promise<{ x: number; y: number; width: number; height: number }> => (await film(page).locator(selector).boundingBox())!;
  const [stage, drawn, conversation] = [await box(".film-stage"), await box(".film-desktop"), await box(".film-conversation")];
  for (const side of ["x", "y", "width", "height"] as const) expect(Math.abs(drawn[side] - stage[side]), `difference of ${side}`).toBeLessThanOrEqual(1);
  expect(stage.x, "left edge").toBe(0);
  if (width < 768) expect(stage.width, "width on a phone").toBe(width);
  else expect(Math.abs(stage.width + conversation.width - width), "width beside the stage and the conversation").toBeLessThanOrEqual(1);
  for (const id of ["one", "two"]) {
    const w = await box(`[data-film-window="${id}"]`);
    expect(w.x >= stage.x && w.x + w.width <= stage.x + stage.width && w.y + w.height <= stage.y + stage.height, `window ${id} is inside: ${JSON.stringify(w)}`).toBe(true);
  }
});

it("a link opens the film at a moment, and goes away when it is closed", async () => {
  const session = await desktop.hub.rest.newSession("moment");
  const page = await desktop.tab({ session });
  await sendMessage(page, "/window note A note | text\n/say done");
  await waitForRow(page, "done");
  await windowOf(page, "note").getByRole("button", { name: "Close" }).click();
  await windowOf(page, "note").waitFor({ state: "detached" });
  await openFilm(page);
  for (let n = 0; n < 50 && (await filmWindow(page, "note").count()) === 0; n++) await page.keyboard.press("ArrowLeft");
  const link = await film(page).locator("[data-film-share]").getAttribute("data-film-share");

  const profile = page.context();
  const opened = await profile.newPage();
  await opened.goto(link!);
  await filmWindow(opened, "note").waitFor();
  await opened.keyboard.press("Escape");
  await opened.locator("dialog.film").waitFor({ state: "detached" });
  expect(new URL(opened.url()).searchParams.has("film")).toBe(false);
});

/** Lets an agent write a file. */
async function agentWrites(page: Page, session: SessionID, path: string, content: string): Promise<void> {
  await sendMessage(page, `/task code Do it; /call storage:write ${JSON.stringify({ path, content })}`);
  await until(() => stored(session, path)).toBe(content);
}

const stored = (session: SessionID, path: string): Promise<string> => storedFile(desktop.hub, session, path);

it("going back to a moment rewinds the conversation and restores files and windows, and the restore can be undone", async () => {
  const session = await desktop.hub.rest.newSession("back");
  const page = await desktop.tab({ session });
  await agentWrites(page, session, "report.md", "first");
  await sendMessage(page, "/window draft Draft | text\n/say before");
  await waitForRow(page, "before");
  await agentWrites(page, session, "report.md", "second");
  await until(async () => (await desktop.hub.rest.snapshot(session)).agents?.length ?? 0).toBe(0);
  await windowOf(page, "draft").getByRole("button", { name: "Close" }).click();
  await windowOf(page, "draft").waitFor({ state: "detached" });

  // The newest saved state has the first version.
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await page.keyboard.type("compare saved");
  await page.getByRole("option", { name: "Compare saved states of the files" }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator('[data-compare-file="report.md"]').click();
  const patch = page.locator(".compare-patch");
  await patch.locator('[data-line="removed"]', { hasText: "-first" }).waitFor();
  await patch.locator('[data-line="added"]', { hasText: "+second" }).waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.locator("[data-compare]").waitFor({ state: "detached" });

  await openFilm(page);
  // Before the third message, when the window has opened: that is between two marks.
  for (let n = 0; n < 20 && (await said(page)).includes('"second"'); n++) await page.keyboard.press("PageUp");
  for (let n = 0; n < 200 && (await filmWindow(page, "draft").count()) === 0; n++) await page.keyboard.press("ArrowRight");
  await until(() => said(page)).not.toContain('"second"');
  await film(page).getByRole("button", { name: "Go back to here" }).click();
  const preview = page.locator("dialog[open] [data-rewind]");
  await preview.getByLabel("And the files").waitFor();
  await preview.locator("[data-go]").click();
  await page.locator("dialog.film").waitFor({ state: "detached" });
  await until(() => stored(session, "report.md")).toBe("first");
  await windowOf(page, "draft").waitFor();
  await page.locator("[data-undo-restore]").first().click();
  await until(() => stored(session, "report.md")).toBe("second");
  await windowOf(page, "draft").waitFor({ state: "detached" });
});

it("a dropped CSV file is cleaned and reported on; all of it is taken back, comes again, and is watched as a film", async () => {
  const session = await desktop.hub.rest.newSession("clean");
  const page = await desktop.tab({ session });
  const [raw, clean] = ["name,sum\nKim,30\nKim,30\nLee,\n", "name,sum\nKim,30\n"];
  await dropFiles(page, ".win-canvas", [{ name: "sales.csv", text: raw }]);
  await page.locator('[data-upload="done"]').waitFor();
  await sendMessage(page, "/window plan Plan | remove what is there twice\n/say ready");
  await waitForRow(page, "ready");
  await agentWrites(page, session, "sales.csv", clean);
  await agentWrites(page, session, "report.md", "# One sale is left");
  await sendMessage(page, "/say The numbers are in sales.csv, and report.md has the summary.");
  await waitForRow(page, "The numbers are in sales.csv");
  for (const name of ["sales.csv", "report.md"]) await page.locator("[data-region=drawer], .drawer").locator(`a:has-text("${name}")`).last().click();
  await page.locator('[data-file="report.md"]').getByText("One sale is left").waitFor();
  await until(() => page.locator('[data-file="sales.csv"] tbody tr').count()).toBe(1);
  const shown = await shownWindows(page);

  // Back to the plan, before the agent changed anything.
  await openFilm(page);
  await page.keyboard.press("Home");
  for (let n = 0; n < 200 && (await filmWindow(page, "plan").count()) === 0; n++) await page.keyboard.press("ArrowRight");
  await film(page).getByRole("button", { name: "Go back to here" }).click();
  const preview = page.locator("dialog[open] [data-rewind]");
  await preview.getByLabel("And the files").waitFor();
  await preview.locator("[data-go]").click();
  await page.locator("dialog.film").waitFor({ state: "detached" });
  await until(() => stored(session, "sales.csv")).toBe(raw);
  await until(() => stored(session, "report.md")).toBe("HTTP 404");
  await until(() => shownWindows(page)).toEqual(["plan"]);

  // And all of it again.
  await page.locator("[data-undo-restore]").first().click();
  await until(() => stored(session, "sales.csv")).toBe(clean);
  await until(() => stored(session, "report.md")).toBe("# One sale is left");
  await until(async () => (await shownWindows(page)).toSorted()).toEqual(shown.toSorted());

  await openFilm(page);
  await page.keyboard.press("Home");
  for (let n = 0; n < 5; n++) await page.keyboard.press("+");
  await page.keyboard.press(" ");
  await film(page).locator('[data-film-play="false"]').waitFor();
  await until(() => position(page)).toBe(Number(await film(page).locator("[data-film-last]").getAttribute("data-film-last")));
  for (const id of shown) await filmWindow(page, id).waitFor();
});
