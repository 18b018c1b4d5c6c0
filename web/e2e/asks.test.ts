// Questions to the user: answered once, by a user, in one of the tabs.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import type { ServerEvent, SessionID } from "../core/src/index.js";
import { centre, questionCard, sendMessage, until, waitForRow, waitUntilArmed } from "./harness/desktop-page.js";
import { desktopFixture, ready } from "./harness/fixture.js";

const desktop = desktopFixture();

/** A tool call that needs approval. */
const hookCall = '/call system_set_config {"section":"hooks","event":"launch","label":"Morning","action":{"type":"interaction","payload":"good morning"}}';

async function closedEvents(session: SessionID): Promise<ServerEvent[]> {
  return (await desktop.hub.rest.events(session)).filter((e) => e.type === "DIALOG_CLOSED");
}

function showDialog(session: SessionID, id: string, title = "May I?"): Promise<void> {
  return desktop.hub.rest.runActions(session, [{ type: "dialog.confirm", id, title, message: "It would do something." }]);
}

function approveButton(page: Page): ReturnType<Page["locator"]> {
  return questionCard(page).getByRole("button", { name: /^(approve|add|yes|ok|allow|delete|run)/i }).first();
}

function rejectButton(page: Page): ReturnType<Page["locator"]> {
  return questionCard(page).getByRole("button", { name: /^(reject|deny|no|cancel)/i }).first();
}

it("when two tabs answer at the same time, one answer counts", async () => {
  const session = await desktop.hub.rest.newSession("same moment");
  const [one, two] = [await desktop.tab({ session }), await desktop.tab({ session })];
  await showDialog(session, "both");
  await Promise.all([waitUntilArmed(approveButton(one)), waitUntilArmed(rejectButton(two))]);
  // The positions of the buttons: one of them may disappear before it is pressed.
  const [here, there] = [await centre(approveButton(one)), await centre(rejectButton(two))];
  await Promise.all([one.mouse.click(here.x, here.y), two.mouse.click(there.x, there.y)]);
  await until(async () => (await closedEvents(session)).length).toBe(1);
  await Promise.all([one, two].map((tab) => until(() => questionCard(tab).count()).toBe(0)));
  expect(await closedEvents(session)).toHaveLength(1);
});

it("buttons ignore presses for 700 ms, and all presses by scripts", async () => {
  const session = await desktop.hub.rest.newSession("armed");
  const page = await desktop.tab({ session });
  await page.evaluate(() => {
    // The times when the question appeared, when a press happened, and when its first button was enabled, by the page's
    // clock.
    const times = { shown: 0, pressed: 0, armed: 0 };
    Object.assign(globalThis, { times });
    new MutationObserver(() => {
      const dialog = document.querySelector("dialog[data-ask-id]");
      if (dialog === null) return;
      times.shown ||= performance.now();
      const ready = [...dialog.querySelectorAll("button")].some((b) => /approve/i.test(b.innerText) && !b.disabled && b.ariaDisabled !== "true");
      if (ready) times.armed ||= performance.now();
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
    addEventListener("pointerup", (e) => e.isTrusted && (times.pressed = performance.now()), true);
  });
  const times = (): Promise<{ shown: number; pressed: number; armed: number }> =>
    page.evaluate(() => ({ ...(globalThis as unknown as { times: { shown: number; pressed: number; armed: number } }).times }));
  const pressByScript = (): Promise<void> =>
    page.evaluate(() => {
      for (const b of document.querySelectorAll<HTMLButtonElement>("dialog[data-ask-id] button")) {
        if (!/approve|reject/i.test(b.innerText)) continue;
        b.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
        b.click();
        b.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
      }
    });
  /** Shows a question and presses at once; false if the machine was so slow that the button was already enabled. */
  const pressEarly = async (name: string): Promise<boolean> => {
    await page.evaluate(() => Object.assign((globalThis as unknown as { times: object }).times, { shown: 0, pressed: 0, armed: 0 }));
    await showDialog(session, name);
    await questionCard(page, name).waitFor();
    await pressByScript();
    const box = (await approveButton(page).boundingBox())!;
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    const { pressed, armed: ready } = await times();
    expect(pressed).toBeGreaterThan(0);
    return ready === 0 || pressed < ready;
  };
  let tries = 1;
  for (; !(await pressEarly(`early-${tries}`)); tries++) {
    expect(tries, "presses that came too late").toBeLessThan(50);
    await until(() => questionCard(page).count()).toBe(0); // it was answered
  }
  const name = `early-${tries}`;
  const answers = async (): Promise<unknown[]> => (await closedEvents(session)).map((e) => e.data as { dialogId: string }).filter((d) => d.dialogId === name);
  await waitUntilArmed(approveButton(page));
  await pressByScript();
  await page.evaluate(() => document.dispatchEvent(new KeyboardEvent("keydown", { key: "a", code: "KeyA", bubbles: true })));
  await desktop.hub.rest.runActions(session, [{ type: "toast.show", id: "after", message: "everything before has happened" }]);
  await page.locator("[data-toast-id=after]").waitFor();
  expect(await answers()).toEqual([]);
  expect(await questionCard(page, name).count()).toBe(1);
  const { shown, armed: ready } = await times();
  expect(ready - shown).toBeGreaterThanOrEqual(690);

  await approveButton(page).click();
  await until(() => questionCard(page).count()).toBe(0);
  expect(await answers()).toMatchObject([{ confirmed: true }]);
});

it("a question with choices is answered by choosing, and the agent continues", async () => {
  const session = await desktop.hub.rest.newSession("choices");
  const page = await desktop.tab({ session });
  await sendMessage(page, "/ask Which colour? | red | blue");
  await questionCard(page).getByText("Which colour?").first().waitFor();
  await questionCard(page).getByText("blue", { exact: true }).first().click();
  const send = questionCard(page).getByRole("button", { name: /^answer$/i });
  await waitUntilArmed(send);
  await send.click();
  await until(() => questionCard(page).count()).toBe(0);
  await waitForRow(page, "blue");
});

it("a postponed question stays in the inbox", async () => {
  const session = await desktop.hub.rest.newSession("put off");
  const page = await desktop.tab({ session });
  await showDialog(session, "later", "Much later?");
  const later = questionCard(page).getByRole("button", { name: /^later/i });
  await waitUntilArmed(later);
  await later.click();
  await until(() => questionCard(page).filter({ visible: true }).count()).toBe(0);
  expect(await closedEvents(session)).toEqual([]);
  await page.getByRole("button", { name: "1 question for you" }).click();
  await page.getByRole("dialog").getByText("Much later?").first().waitFor();
});

// This test and the next are the last, since the hook they allow runs in every later session.
it("when two tabs answer the same question, one wins, the other is told, and the effect happens once", async () => {
  const session = await desktop.hub.rest.newSession("race");
  const profile = await desktop.profile();
  const one = await desktop.tab({ session, profile });
  const two = await desktop.tab({ session, profile });
  await sendMessage(one, hookCall);
  await Promise.all([questionCard(one).waitFor(), questionCard(two).waitFor()]);
  await questionCard(one).getByText("good morning").first().waitFor();

  await two.bringToFront();
  await waitUntilArmed(rejectButton(two));
  await one.bringToFront();
  await waitUntilArmed(approveButton(one));
  await approveButton(one).click();
  await questionCard(two).waitFor({ state: "detached" });
  await two.getByText(/another tab/i).first().waitFor();
  await until(() => questionCard(one).count()).toBe(0);
  const closed = await closedEvents(session);
  expect(closed).toHaveLength(1);
  expect(closed[0]!.data).toMatchObject({ confirmed: true, reason: "answered" });
  await sendMessage(one, '/call system_get_config {"section":"hooks"}');
  const told = await waitForRow(one, "Morning");
  expect((await told.innerText()).match(/Morning/g)).toHaveLength(1);
});

it("an agent that may always do something asks once, also after a reload", async () => {
  const session = await desktop.hub.rest.newSession("always");
  const page = await desktop.tab({ session });
  await sendMessage(page, hookCall);
  const always = questionCard(page).getByRole("button", { name: "Always allow" });
  await waitUntilArmed(always);
  await always.click();
  await until(() => questionCard(page).count()).toBe(0);
  const asked = async (): Promise<number> => (await desktop.hub.rest.events(session)).filter((e) => e.type === "APPROVAL_REQUEST").length;
  await until(asked).toBe(1);
  for (const name of ["again", "after a reload"]) {
    await sendMessage(page, `${hookCall}\n/say called ${name}`);
    await waitForRow(page, `called ${name}`);
    expect(await asked(), `questions after the call ${name}`).toBe(1);
    await page.reload();
    await ready(page);
  }
  expect(await questionCard(page).count(), "questions after a reload").toBe(0);
});
