// Plans: reviewed, changed, run, paused and finished, in one tab or two, by keyboard or touch, and through a restart of
// the hub.

import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import type { HITLClosed, SessionID, Todo } from "../core/src/index.js";
import { findViolations } from "./harness/axe.js";
import { commandBar, questionCard, sendMessage, until, waitForLink, waitForRow, waitUntilArmed } from "./harness/desktop-page.js";
import { desktopFixture, ready } from "./harness/fixture.js";

const desktop = desktopFixture();

/** The plan for the demo provider. Its agents execute the slash directives in tasks. */
const planOf = (...todos: object[]): string => `/plan ${JSON.stringify({ todos })}`;

const panel = (page: Page): Locator => page.locator("[data-region=plan]");
const box = (page: Page, id: string): Locator => panel(page).locator(`[data-todo="${id}"]`);
const waitForPhase = (page: Page, phase: string): Promise<void> => page.locator(`[data-region=plan][data-phase=${phase}]`).waitFor();
const waitForResult = (page: Page): Promise<void> => panel(page).locator("[data-plan-result=complete]").waitFor();

/** Presses a button of a question once it is armed. */
async function press(page: Page, name: RegExp): Promise<void> {
  const button = questionCard(page).getByRole("button", { name });
  await waitUntilArmed(button);
  await button.click();
}

async function statusOf(session: SessionID): Promise<Record<string, string>> {
  const todos: Todo[] = (await desktop.hub.rest.snapshot(session)).todos ?? [];
  return Object.fromEntries(todos.map((t) => [t.id, t.status ?? ""]));
}

async function closedEvents(session: SessionID): Promise<HITLClosed[]> {
  return (await desktop.hub.rest.events(session)).flatMap((e) => (e.type === "hitl_closed" ? [e.data] : []));
}

const week = { field: "week", question: "Which week?", input_type: "date", range: true, required: true };

it("a plan is reviewed, changed, run, paused, resumed after a restart of the hub, and finished", async () => {
  const session = await desktop.hub.rest.newSession("party");
  const page = await desktop.tab({ session });
  await page.keyboard.press("Alt+p");
  await page.locator("[data-mode=plan]").waitFor();
  const todos = [
    { id: "read", task: "Read the list; /say read", estimated_duration_sec: 1 },
    { id: "prices", task: "Fetch the prices; /fail 2 the shop is closed; /say fetched", depends_on: ["read"], max_retries: 3 },
    { id: "dates", task: "Choose the week; /say chosen", depends_on: ["read"], inputs: [week] },
    { id: "send", task: "Send the invitations; /say sent", depends_on: ["prices", "dates"], requires_approval: true, approval_reason: "sixty people get mail" },
    { id: "sum", task: "Sum up; /say summed", depends_on: ["send"] },
    { id: "extra", task: "Something without use", depends_on: ["read"] },
  ];
  await commandBar(page).fill(planOf(...todos));
  await commandBar(page).press("Enter");
  await page.locator("[data-mode=chat]").waitFor();

  await questionCard(page).getByText("Review the plan").waitFor();
  await waitForPhase(page, "review");
  expect(await questionCard(page).locator("[data-todo]").count()).toBe(6);
  await page.locator("[data-plan-status=review]").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await press(page, /^change/i);
  await questionCard(page).getByRole("textbox").fill("remove extra");
  await waitUntilArmed(questionCard(page).getByRole("button", { name: "Ask for the change" }));
  await page.keyboard.press("Enter");
  await until(() => questionCard(page).locator("[data-todo]").count()).toBe(5);
  await panel(page).getByText("version 2").waitFor();
  await press(page, /^approve/i);

  await waitForPhase(page, "running");
  // A card does not take the focus from a text field, and the command bar may have it again by now.
  await questionCard(page).filter({ hasText: "Which week?" }).press("Escape");
  await until(() => questionCard(page).count()).toBe(0);
  await box(page, "prices").and(page.locator("[data-status=pending]")).filter({ hasText: /again/ }).waitFor();
  await panel(page).getByRole("button", { name: "Pause" }).click();
  await waitForPhase(page, "paused");

  desktop.guard.expectLostHub();
  await desktop.hub.kill();
  await desktop.hub.up();
  await waitForLink(page, "live");
  await waitForPhase(page, "paused");
  expect((await statusOf(session)).read).toBe("completed");
  await panel(page).getByRole("button", { name: "Go on" }).click();
  await waitForPhase(page, "running");

  await panel(page).getByRole("button", { name: "Change" }).click();
  await panel(page).getByRole("textbox").fill("add Tidy up; /say tidied");
  await page.keyboard.press("Enter");
  await panel(page).getByText("version 3").waitFor();

  await panel(page).getByRole("button", { name: "Answer", exact: true }).click();
  await questionCard(page).getByLabel("From", { exact: true }).fill("2026-02-09");
  await questionCard(page).getByLabel("To", { exact: true }).fill("2026-02-01");
  await press(page, /^answer/i);
  await questionCard(page).getByText("The end is before the beginning").waitFor();
  await questionCard(page).getByLabel("To", { exact: true }).fill("2026-02-13");
  await press(page, /^answer/i);
  await until(async () => (await closedEvents(session)).at(-1)?.value).toEqual({ from: "2026-02-09", to: "2026-02-13" });

  await questionCard(page).getByText("sixty people get mail").first().waitFor();
  await press(page, /^run it/i);
  await waitForResult(page);
  expect(await statusOf(session)).toEqual({ read: "completed", prices: "completed", dates: "completed", send: "completed", sum: "completed", added_1: "completed" });
  const ran = (await desktop.hub.rest.events(session)).flatMap((e) => (e.type === "todo_started" ? [e.data.todo_id] : []));
  expect(Object.fromEntries(["read", "prices", "dates", "send", "sum", "added_1"].map((id) => [id, ran.filter((r) => r === id).length]))).toEqual({ read: 1, prices: 3, dates: 1, send: 1, sum: 1, added_1: 1 });
  await waitForRow(page, /6 of 6/);
  await page.locator("[data-message-id][data-message-status=completed]").first().waitFor();
  expect(await page.locator("[data-plan-chip]").count()).toBe(0);
  expect(await findViolations(page)).toEqual([]);
  await panel(page).getByRole("button", { name: "Plan something else" }).click();
  expect(await commandBar(page).inputValue()).toBe("Plan something else");
});

it("every kind of question is answered by keyboard, and errors of the hub are shown at the field", async () => {
  const session = await desktop.hub.rest.newSession("questions");
  const page = await desktop.tab({ session });
  const { keyboard } = page;
  page.mouse.click = () => Promise.reject(new Error("there is no mouse"));
  const options = [
    { value: "barn", label: "The barn" },
    { value: "boat", label: "The boat" },
  ];
  const kinds = [
    { field: "name", input_type: "text", question: "What is it called?" },
    { field: "place", input_type: "choice", question: "Where is it?", options },
    { field: "food", input_type: "multi", question: "What is there?", options },
    { field: "guests", input_type: "number", question: "How many come?", min: 2, max: 60 },
    { field: "day", input_type: "date", question: "When is it?" },
    { field: "music", input_type: "confirm", question: "Is there music?" },
  ].map((input) => ({ required: true, ...input }));
  await keyboard.press("Alt+p");
  await keyboard.insertText(`A party ?clarify!\n${planOf({ id: "all", task: "Note it; /say noted", inputs: kinds })}`);
  await keyboard.press("Enter");

  /** Waits until a question is in front with the focus in it, and is armed. */
  const asked = async (question: string): Promise<void> => {
    await questionCard(page).and(page.locator("[data-armed=true]")).getByText(question).first().waitFor();
    const inside = (): Promise<boolean> => page.evaluate(() => document.activeElement?.closest("dialog[data-ask-id]") != null);
    for (let n = 0; n < 8 && !(await inside()); n++) await keyboard.press("F6");
  };
  const tabTo = async (selector: string): Promise<void> => {
    for (let n = 0; n < 30; n++) {
      if (await page.evaluate((s) => document.activeElement?.matches(s) ?? false, selector)) return;
      await keyboard.press("Tab");
    }
    throw new Error(`${selector} cannot be reached with Tab`);
  };
  await asked("Shall it be short or thorough?");
  await tabTo(".asks-chips .button");
  await keyboard.press("Enter");
  await tabTo("textarea");
  expect(await questionCard(page).locator("textarea").inputValue()).toBe("short");
  await keyboard.press("Enter");

  await asked("Review the plan");
  await tabTo("[data-todo=all]");
  await keyboard.press("Enter");
  await questionCard(page).locator("[data-details=all]").waitFor();
  await until(async () => {
    if ((await questionCard(page).getByText("Review the plan").count()) > 0) await keyboard.press("a");
    return (await closedEvents(session)).some((c) => c.action === "approve");
  }).toBe(true);

  const answers: Record<string, () => Promise<void>> = {
    "What is it called?": async () => {
      await tabTo("dialog[data-ask-id] textarea");
      await keyboard.insertText("x".repeat(9000));
      await keyboard.press("Enter");
      await questionCard(page).getByRole("alert").filter({ hasText: "9000 bytes" }).waitFor();
      expect(await questionCard(page).locator("textarea").getAttribute("aria-invalid")).toBe("true");
      await keyboard.press("Control+a");
      await keyboard.insertText("여름 파티");
    },
    "Where is it?": async () => {
      await tabTo("dialog[data-ask-id] input[type=radio]");
      await keyboard.press("ArrowDown");
    },
    "What is there?": async () => {
      await tabTo("dialog[data-ask-id] input[type=checkbox]");
      await keyboard.press("Space");
      await keyboard.press("Tab");
      await keyboard.press("Space");
    },
    "How many come?": async () => {
      await tabTo("dialog[data-ask-id] input[inputmode=decimal]");
      await keyboard.insertText("61");
      await keyboard.press("Enter");
      await questionCard(page).getByRole("alert").filter({ hasText: "60 or less" }).waitFor();
      await keyboard.press("Backspace");
    },
    "When is it?": async () => {
      await tabTo("dialog[data-ask-id] input[type=date]");
      await keyboard.type("02022026"); // the same in every order of days and months
    },
    "Is there music?": async () => {
      await tabTo("dialog[data-ask-id] .button-primary");
    },
  };
  const left = new Set(Object.keys(answers));
  const title = questionCard(page).locator(".asks-title");
  await page.getByRole("heading", { name: "Review the plan" }).waitFor({ state: "detached" });
  while (left.size > 0) {
    await questionCard(page).and(page.locator("[data-armed=true]")).waitFor();
    const question = (await title.innerText()).trim();
    if (!left.delete(question)) throw new Error(`asked again: ${question}`);
    await asked(question);
    if (left.size === 5) expect(await findViolations(page)).toEqual([]);
    await answers[question]!();
    await keyboard.press("Enter");
    await until(async () => (await title.allInnerTexts()).filter((t) => t.includes(question))).toEqual([]);
  }
  await waitForResult(page);
  const values = (await closedEvents(session)).flatMap((c) => (c.value === undefined ? [] : [JSON.stringify(c.value)]));
  expect(values.sort()).toEqual(['"2026-02-02"', '"boat"', '"short"', '"여름 파티"', '["barn","boat"]', "6", "true"].sort());

  // Moving through the todos by keyboard shows the focus, and Esc leads back.
  for (let n = 0; n < 8 && !(await page.evaluate(() => document.activeElement?.closest("[data-region=plan]") != null)); n++) await keyboard.press("F6");
  await tabTo("[data-region=plan] [data-todo=all]");
  await keyboard.press("Enter");
  await panel(page).locator("[data-details=all]").waitFor();
  await keyboard.press("Escape");
  await keyboard.press("Escape");
  await until(() => panel(page).count()).toBe(0);
});

it("of two tabs that answer one counts, and a failed plan continues without the failed todo", async () => {
  const session = await desktop.hub.rest.newSession("two tabs");
  const profile = await desktop.profile();
  const one = await desktop.tab({ session, profile });
  const two = await desktop.tab({ session, profile });
  await one.bringToFront();
  await commandBar(one).fill(planOf({ id: "bad", task: "Try; /fail no luck", max_retries: 0 }, { id: "next", task: "Go on; /say gone on", depends_on: ["bad"] }));
  await commandBar(one).press("Enter");
  await Promise.all([one, two].map((tab) => questionCard(tab).getByText("Review the plan").waitFor()));
  await two.bringToFront();
  await waitUntilArmed(questionCard(two).getByRole("button", { name: /^reject/i }));
  await one.bringToFront();
  await press(one, /^approve/i);
  await until(() => questionCard(two).count()).toBe(0);
  await two.getByText(/another tab/i).first().waitFor();
  expect((await closedEvents(session)).map((c) => c.action)).toEqual(["approve"]);

  await Promise.all([one, two].map((tab) => waitForPhase(tab, "failed")));
  await panel(one).locator("[data-plan-result=failed]").getByText("no luck").first().waitFor();
  expect(await statusOf(session)).toEqual({ bad: "failed", next: "blocked" });
  expect(await findViolations(one)).toEqual([]);
  const end = one.locator("[data-plan-end=failed]");
  await end.getByText("It failed at: Try").waitFor();
  await end.getByRole("button", { name: "Try again" }).waitFor();
  await box(one, "bad").click();
  await panel(one).locator("[data-details=bad]").getByText("The model could not work with the request. (no luck)").waitFor();
  await panel(one).locator("[data-details=bad]").getByRole("button", { name: "Skip" }).click();
  await Promise.all([one, two].map((tab) => waitForResult(tab)));
  expect(await statusOf(session)).toEqual({ bad: "skipped", next: "completed" });
});

it("a plan ends in a card with its files and windows, and the results of its tasks, collapsed", async () => {
  const session = await desktop.hub.rest.newSession("card");
  const page = await desktop.tab({ session });
  const write = '/call storage_write {"path":"report.md","content":"# Report"}';
  const open = '/call window_create {"windowId":"prices","title":"Prices","content":{"renderer":"text","content":"10"}}';
  // What agents do, as it is shown while the plan runs.
  await page.evaluate(() => {
    const doing = new Set<string>();
    Object.assign(globalThis, { doing });
    new MutationObserver(() => {
      for (const e of document.querySelectorAll<HTMLElement>(".dock-pill-doing, .drawer-agent-line > span:not(.drawer-time)")) doing.add(e.innerText);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  await sendMessage(page, "/task code Look around; /sleep 1s");
  await page.locator(".dock-pill-doing").getByText("Giving a task").waitFor();
  await until(() => page.locator("[data-agent]").count()).toBe(0);
  await commandBar(page).fill(planOf({ id: "make", task: `Make both; ${write}; ${open}; /say {"summary":"both made","count":2}` }));
  await commandBar(page).press("Enter");
  await press(page, /^approve/i);
  const card = page.locator("[data-plan-end=complete]");
  await card.waitFor();
  expect(await card.innerText(), "no JSON").not.toMatch(/[{}]/);
  const doing = await page.evaluate(() => [...(globalThis as unknown as { doing: Set<string> }).doing]);
  expect(doing.length, "what agents did").toBeGreaterThan(0);
  expect(doing.filter((text) => /\w[:_]\w/.test(text)), "names of tools").toEqual([]);
  await card.getByRole("button", { name: "report.md" }).click();
  await page.locator("[data-window-id]").filter({ hasText: "report.md" }).waitFor();
  await card.getByRole("button", { name: "Prices" }).click();
  await page.locator("[data-window-id=prices][data-focused]").waitFor();
  expect(await page.locator("[data-row]:not([data-kind=user])").getByText("both made").count(), "results that are not collapsed").toBe(0);
  await card.getByRole("button", { name: /Result of 1 task/ }).click();
  await card.locator("article").getByText("both made").first().waitFor();
  expect(await page.getByText(/Done in \d+ ms/).count(), "lines about the ends of tasks").toBe(0);
  expect(await findViolations(page)).toEqual([]);
});

it("on a phone a plan is a list, and is stopped by touch", async () => {
  const phone: BrowserContextOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };
  const session = await desktop.hub.rest.newSession("pocket");
  const page = await desktop.tab({ session, context: phone });
  const fits = (): Promise<boolean> => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.body.scrollWidth <= innerWidth);
  await page.getByRole("button", { name: "Plan", exact: true }).tap();
  await commandBar(page).fill(planOf({ id: "wait", task: "Wait; /hang" }, { id: "then", task: "Then this", depends_on: ["wait"] }));
  await commandBar(page).press("Enter");
  await questionCard(page).getByText("Review the plan").waitFor();
  expect(await fits()).toBe(true);
  const approve = questionCard(page).getByRole("button", { name: /^approve/i });
  await waitUntilArmed(approve);
  await approve.tap();
  await box(page, "wait").and(page.locator("[data-status=in_progress]")).waitFor();
  await box(page, "then").getByText("after Wait").waitFor();
  expect(await fits()).toBe(true);
  expect(await findViolations(page)).toEqual([]);
  await panel(page).getByRole("button", { name: "Close the plan" }).tap();
  await page.locator("[data-plan-chip=running]").tap();
  await page.reload();
  await ready(page);
  await page.locator("[data-plan-chip=running]").tap();
  await panel(page).getByRole("button", { name: "Cancel the plan" }).tap();
  await page.getByRole("dialog", { name: "Cancel the plan?" }).getByRole("button", { name: "Cancel it" }).tap();
  await waitForPhase(page, "cancelled");
  expect(await statusOf(session)).toEqual({ wait: "cancelled", then: "cancelled" });
});
