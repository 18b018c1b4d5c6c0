// Changing the history: edits, rewinds with a preview, condensing, tasks and search.

import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { findViolations } from "./harness/axe.js";
import { commandBar, sendMessage, shownRows, until, waitForRow, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

/** Opens the menu of a message and chooses an item. */
async function choose(page: Page, message: string, what: string): Promise<void> {
  const row = await waitForRow(page, message, "user");
  await row.hover();
  await row.getByRole("button", { name: "What to do with this message" }).click();
  await page.getByRole("menuitem", { name: what }).click();
}

const preview = (page: Page): Locator => page.locator("dialog[open] [data-rewind]");

/** The users' messages, as the page shows them. */
const userMessages = async (page: Page): Promise<string[]> => (await shownRows(page, "user")).map((r) => r.text.split("\n").at(-1)!);

it("a message is edited in place, by keyboard, and what followed is removed in all tabs", async () => {
  const session = await desktop.hub.rest.newSession("edit");
  const [one, two] = [await desktop.tab({ session }), await desktop.tab({ session })];
  await sendMessage(one, "/say first answer");
  await waitForRow(one, "first answer");
  await sendMessage(one, "/window note A note | # Text\n/say second answer");
  await waitForRow(two, "second answer");

  const ts = await (await waitForRow(one, "/say first answer", "user")).getAttribute("data-row");
  const row = one.locator(`[data-row="${ts}"]`);
  await row.getByRole("button", { name: "What to do with this message" }).focus();
  await one.keyboard.press("Enter");
  await one.keyboard.press("Enter"); // the first item: Edit
  const editor = row.getByRole("textbox", { name: "Edit what you said" });
  await editor.waitFor();
  expect(await row.innerText()).toContain("Sending takes back 1 message, 2 answers");
  await one.keyboard.press("Escape");
  await editor.waitFor({ state: "detached" });

  await choose(one, "/say first answer", "Edit");
  await editor.fill("/say better answer");
  await editor.press("Enter");
  for (const tab of [one, two]) {
    await waitForRow(tab, "better answer");
    await until(() => userMessages(tab)).toEqual(["/say better answer"]);
    expect((await shownRows(tab, "assistant")).map((r) => r.text).join()).not.toContain("first answer");
    await windowOf(tab, "note").waitFor(); // windows stay
  }
  await two.getByText("The conversation was rewound in another tab").waitFor();
});

it("a rewind shows what it removes, and one of two tabs wins", async () => {
  const session = await desktop.hub.rest.newSession("rewind");
  const [one, two] = [await desktop.tab({ session }), await desktop.tab({ session })];
  for (const n of ["one", "two", "three"]) {
    await sendMessage(one, `/say answer ${n}`);
    await waitForRow(two, `answer ${n}`);
  }
  await choose(one, "/say answer two", "Rewind to here");
  await preview(one).getByText("This takes back 2 messages and 2 answers.").waitFor();
  expect(await preview(one).locator(".history-lines").innerText()).toContain("/say answer three");
  expect(await findViolations(one)).toEqual([]);
  await choose(two, "/say answer three", "Delete from here");
  await preview(two).getByText("This takes back 1 message and 1 answer.").waitFor();

  await preview(one).getByRole("button", { name: "Rewind" }).click();
  await preview(one).waitFor({ state: "detached" });
  await until(() => userMessages(one)).toEqual(["/say answer one"]);
  expect(await commandBar(one).inputValue()).toBe("/say answer two");
  await preview(two).getByText("This message is gone already").waitFor();
  await preview(two).getByRole("button", { name: "Close" }).click();
  await until(() => userMessages(two)).toEqual(["/say answer one"]);

  // A new message follows the remaining ones, for models as well as for users.
  await sendMessage(two, "/say answer four");
  await waitForRow(one, "answer four");
  await one.reload();
  await waitForRow(one, "answer four");
  expect(await userMessages(one)).toEqual(["/say answer one", "/say answer four"]);
});

it("the model history is condensed, which is a row, and a rewind undoes it", async () => {
  const page = await desktop.tab({ session: await desktop.hub.rest.newSession("condense") });
  for (const n of [1, 2, 3]) {
    await sendMessage(page, `/say answer ${n}`);
    await waitForRow(page, `answer ${n}`);
  }
  await page.locator("[data-meter]").waitFor();
  await page.getByRole("button", { name: "Sum up", exact: true }).click();
  const row = page.locator("[data-row][data-kind=condensed]");
  await row.waitFor();
  expect(await row.innerText()).toMatch(/Summed up[\s\S]*tokens/);
  await row.getByRole("button").first().click();
  expect(await findViolations(page)).toEqual([]);
  await choose(page, "/say answer 3", "Rewind to here");
  await preview(page).getByText("A summary is undone").waitFor();
  expect(await preview(page).locator(".history-lines").innerText()).toContain("Summed up");
  await preview(page).getByRole("button", { name: "Rewind" }).click();
  await row.waitFor({ state: "detached" });
});

it("words are found, also by keyboard", async () => {
  const page = await desktop.tab({ session: await desktop.hub.rest.newSession("find") });
  await sendMessage(page, "/say apples and pears");
  await waitForRow(page, "apples and pears");
  await page.locator("[role=log]").focus();
  await page.keyboard.press("Control+f");
  const field = page.getByRole("searchbox", { name: "Search for" });
  await field.fill("PEARS");
  await page.getByText("0 of 2").waitFor();
  await field.press("Enter");
  await page.locator("[data-row][data-kind=assistant][data-found]").waitFor();
  await field.press("Enter");
  await page.locator("[data-row][data-kind=user][data-found]").waitFor();
  await field.press("Escape");
  await field.waitFor({ state: "detached" });
});

it("scrolling up is not undone by rows that grow", async () => {
  const page = await desktop.tab({ session: await desktop.hub.rest.newSession("up") });
  await sendMessage(page, `/say ${"a long answer  \\n".repeat(3)}\n`.repeat(12));
  const log = page.getByRole("log");
  await until(() => log.evaluate((box) => box.scrollHeight - box.clientHeight)).toBeGreaterThan(100);
  await page.locator("[data-meter]").waitFor();
  const left = await log.evaluate(async (box) => {
    const frame = (): Promise<unknown> => new Promise((done) => requestAnimationFrame(done));
    const down = (): number => box.scrollHeight - box.scrollTop - box.clientHeight;
    box.scrollTop = box.scrollHeight;
    await frame();
    box.dispatchEvent(new KeyboardEvent("keydown", { key: "Home" }));
    box.scrollTop -= 6; // the first step of many
    await frame();
    await frame();
    (box.firstElementChild as HTMLElement).style.paddingBottom = "300px";
    await frame();
    await frame();
    return down();
  });
  expect(left).toBeGreaterThan(200);
  await page.getByRole("button", { name: "Jump to newest" }).click();
  await until(() => log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 2)).toBe(true);
});

it("text typed while the search is loading is kept", async () => {
  const page = await desktop.tab({ session: await desktop.hub.rest.newSession("early") });
  await sendMessage(page, "/say apples and pears");
  await waitForRow(page, "apples and pears");
  let fetch = (): void => undefined;
  const held = new Promise<void>((go) => (fetch = go));
  await page.route(/search-bar/, async (route) => {
    await held;
    await route.continue();
  });
  await page.reload();
  await waitForRow(page, "apples and pears");
  await page.getByRole("log").focus();
  await page.keyboard.press("Control+f");
  await page.keyboard.type("pea");
  fetch();
  await page.getByText("0 of 2").waitFor();
  await page.keyboard.type("rs");
  await until(() => page.getByRole("searchbox", { name: "Search for" }).inputValue()).toBe("pears");
});

it("a reset conversation has no earlier rows", async () => {
  const page = await desktop.tab({ session: await desktop.hub.rest.newSession("anew") });
  await sendMessage(page, "/say one");
  await waitForRow(page, "one");
  await choose(page, "/say one", "Delete from here");
  await preview(page).getByRole("button", { name: "Delete" }).click();
  await until(async () => (await shownRows(page)).length).toBe(0);
  await sendMessage(page, "/say two");
  await waitForRow(page, "two");
  await page.getByRole("button", { name: "Show earlier" }).waitFor({ state: "detached" });
  await page.getByText("Loading earlier").waitFor({ state: "detached" });
  expect(await page.getByRole("button", { name: "Show earlier" }).count()).toBe(0);
});

it("tasks can be searched and lead to their messages", async () => {
  const page = await desktop.tab({ session: await desktop.hub.rest.newSession("tasks") });
  await sendMessage(page, "/say apples and pears");
  await waitForRow(page, "apples and pears");
  await sendMessage(page, "/say 사과와 배");
  await waitForRow(page, "사과와 배");

  await page.getByRole("tab", { name: "Tasks" }).click();
  const tasks = page.locator("[data-task]");
  await until(() => tasks.count()).toBe(2);
  await page.getByRole("searchbox", { name: "Search tasks" }).fill("사과");
  await until(() => tasks.count()).toBe(1);
  expect(await findViolations(page)).toEqual([]);
  await tasks.first().click();
  await page.locator("[data-row][data-found]", { hasText: "사과와 배" }).waitFor();

  await sendMessage(page, "/task default /say one part\n/task default /say another part\n/say all done");
  await waitForRow(page, "all done");
  await page.getByRole("tab", { name: "Tasks" }).click();
  await until(() => tasks.count()).toBe(5);
  const [whole, ...parts] = (await tasks.allInnerTexts()).slice(0, 3).map((t) => t.split("\n")[0]);
  expect(whole).toContain("/task");
  expect(parts.sort()).toEqual(["/say another part", "/say one part"]); // either may have started first
  await tasks.filter({ hasText: /^\/say one part/ }).click();
  await page.locator("[data-row][data-found]", { hasText: "one part" }).waitFor();
});

it("rows dropped from the desktop state are loaded when scrolling there, and searched", async () => {
  const session = await desktop.hub.rest.newSession("older");
  const sendTurn = async (content: string): Promise<void> => {
    await desktop.hub.rest.sendMessage(session, content);
    await until(async () => ((await desktop.hub.rest.snapshot(session)).agents ?? []).every((a) => a.status === "idle")).toBe(true);
  };
  await sendTurn("/say a needle at the beginning");
  for (let n = 0; n < 10; n++) await sendTurn(`/think so\n${"/say look\n/call window_list {}\n".repeat(10)}/say answer ${n}!`);
  await until(async () => (await desktop.hub.rest.rows(session)).length).toBe(200);
  const page = await desktop.tab({ session });
  const log = page.getByRole("log");
  await waitForRow(page, "answer 9!");
  expect(await page.getByText("a needle at the beginning").count()).toBe(0);

  await log.focus();
  await page.keyboard.press("Control+f");
  const field = page.getByRole("searchbox", { name: "Search for" });
  await field.fill("needle");
  await page.getByText("Not found").waitFor();
  await page.getByRole("button", { name: "Search older" }).click();
  const needle = page.locator("[data-row][data-kind=assistant][data-found]", { hasText: "a needle at the beginning" });
  await needle.waitFor();
  await page.getByText("Searched everything").waitFor();
  await until(async () => (await needle.boundingBox())!.y).toBeGreaterThan(0); // it is visible, the end is not

  await page.reload();
  await log.getByRole("button", { name: "Show earlier" }).waitFor();
  await log.focus();
  // Scrolling to the beginning is enough, repeated while new rows arrive below.
  await until(async () => {
    await page.keyboard.press("Home");
    return page.locator("[data-row][data-kind=assistant]", { hasText: "a needle at the beginning" }).count();
  }).toBe(1);
  await page.getByRole("button", { name: "Jump to newest" }).waitFor(); // older rows are not new ones
  await choose(page, "answer 0!", "Rewind to here");
  await preview(page).getByText("This takes back 10 messages, 110 answers and 100 tool calls.").waitFor();
  await preview(page).getByRole("button", { name: "Rewind" }).click();
  await until(async () => (await desktop.hub.rest.rows(session)).length).toBe(3);
  const fresh = await desktop.tab({ session });
  await waitForRow(fresh, "a needle at the beginning"); // all rows of the desktop state were removed, and this one is loaded again
  await choose(page, "/say a needle", "Rewind to here");
  await preview(page).getByText("This takes back 1 message and 1 answer.").waitFor();
  await preview(page).getByRole("button", { name: "Rewind" }).click();
  await until(async () => (await shownRows(page)).length).toBe(0);
  expect(await desktop.hub.rest.rows(session)).toEqual([]);
  await fresh.getByText("Nothing said here yet").waitFor();
});
