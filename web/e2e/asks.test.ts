// Questions to the person: answered once, by a person, in one of the tabs.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import type { ServerEvent, SessionID } from "../core/src/index.js";
import { stage } from "./harness/stage.js";
import { armed, ask, middle, say, until, waitForRow } from "./harness/verbs.js";

const desktop = stage();

/** A tool that wants to be allowed. */
const wantsHook = '/call system_set_config {"section":"hooks","event":"launch","label":"Morning","action":{"type":"interaction","payload":"good morning"}}';

async function closings(session: SessionID): Promise<ServerEvent[]> {
  return (await desktop.hub.rest.events(session)).filter((e) => e.type === "DIALOG_CLOSED");
}

function showDialog(session: SessionID, id: string, title = "May I?"): Promise<void> {
  return desktop.hub.rest.act(session, [{ type: "dialog.confirm", id, title, message: "It would do something." }]);
}

function yes(page: Page): ReturnType<Page["locator"]> {
  return ask(page).getByRole("button", { name: /^(approve|add|yes|ok|allow)/i }).first();
}

function no(page: Page): ReturnType<Page["locator"]> {
  return ask(page).getByRole("button", { name: /^(reject|deny|no|cancel)/i }).first();
}

it("both tabs press within the same moment: one answer counts", async () => {
  const session = await desktop.hub.rest.newSession("same moment");
  const [one, two] = [await desktop.tab({ session }), await desktop.tab({ session })];
  await showDialog(session, "both");
  await Promise.all([armed(yes(one)), armed(no(two))]);
  // Where the buttons are: one of them may be gone before it is pressed.
  const [here, there] = [await middle(yes(one)), await middle(no(two))];
  await Promise.all([one.mouse.click(here.x, here.y), two.mouse.click(there.x, there.y)]);
  await until(async () => (await closings(session)).length).toBe(1);
  await Promise.all([one, two].map((tab) => until(() => ask(tab).count()).toBe(0)));
  expect(await closings(session)).toHaveLength(1);
});

it("buttons take no press for 700 ms, and none that a script makes", async () => {
  const session = await desktop.hub.rest.newSession("armed");
  const page = await desktop.tab({ session });
  await page.evaluate(() => {
    // When the question came, a person pressed, and its first button could be pressed, by the clock of the page.
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
  /** Shows a question and presses at once; false if the machine was so slow that it could be pressed by then. */
  const pressEarly = async (name: string): Promise<boolean> => {
    await page.evaluate(() => Object.assign((globalThis as unknown as { times: object }).times, { shown: 0, pressed: 0, armed: 0 }));
    await showDialog(session, name);
    await ask(page, name).waitFor();
    await pressByScript();
    const box = (await yes(page).boundingBox())!;
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    const { pressed, armed: ready } = await times();
    expect(pressed).toBeGreaterThan(0);
    return ready === 0 || pressed < ready;
  };
  let tries = 1;
  for (; !(await pressEarly(`early-${tries}`)); tries++) {
    expect(tries, "presses that came too late").toBeLessThan(50);
    await until(() => ask(page).count()).toBe(0); // it was an answer
  }
  const name = `early-${tries}`;
  const answers = async (): Promise<unknown[]> => (await closings(session)).map((e) => e.data as { dialogId: string }).filter((d) => d.dialogId === name);
  await armed(yes(page));
  await pressByScript();
  await page.evaluate(() => document.dispatchEvent(new KeyboardEvent("keydown", { key: "a", code: "KeyA", bubbles: true })));
  await desktop.hub.rest.act(session, [{ type: "toast.show", id: "after", message: "everything before has happened" }]);
  await page.locator("[data-toast-id=after]").waitFor();
  expect(await answers()).toEqual([]);
  expect(await ask(page, name).count()).toBe(1);
  const { shown, armed: ready } = await times();
  expect(ready - shown).toBeGreaterThanOrEqual(690);

  await yes(page).click();
  await until(() => ask(page).count()).toBe(0);
  expect(await answers()).toMatchObject([{ confirmed: true }]);
});

it("a question with choices is answered by choosing, and the agent goes on", async () => {
  const session = await desktop.hub.rest.newSession("choices");
  const page = await desktop.tab({ session });
  await say(page, "/ask Which colour? | red | blue");
  await ask(page).getByText("Which colour?").first().waitFor();
  await ask(page).getByText("blue", { exact: true }).first().click();
  const send = ask(page).getByRole("button", { name: /^answer$/i });
  await armed(send);
  await send.click();
  await until(() => ask(page).count()).toBe(0);
  await waitForRow(page, "blue");
});

it("what is put off waits in the inbox", async () => {
  const session = await desktop.hub.rest.newSession("put off");
  const page = await desktop.tab({ session });
  await showDialog(session, "later", "Much later?");
  const later = ask(page).getByRole("button", { name: /^later/i });
  await armed(later);
  await later.click();
  await until(() => ask(page).filter({ visible: true }).count()).toBe(0);
  expect(await closings(session)).toEqual([]);
  await page.getByRole("button", { name: "1 question for you" }).click();
  await page.getByRole("dialog").getByText("Much later?").first().waitFor();
});

// The last one, since the hook it allows runs in every session after it.
it("two tabs answer the same question at once: one wins, the other is told, the effect happens once", async () => {
  const session = await desktop.hub.rest.newSession("race");
  const profile = await desktop.profile();
  const one = await desktop.tab({ session, profile });
  const two = await desktop.tab({ session, profile });
  await say(one, wantsHook);
  await Promise.all([ask(one).waitFor(), ask(two).waitFor()]);
  await ask(one).getByText("good morning").first().waitFor();

  await two.bringToFront();
  await armed(no(two));
  await one.bringToFront();
  await armed(yes(one));
  await yes(one).click();
  await ask(two).waitFor({ state: "detached" });
  await two.getByText(/another tab/i).first().waitFor();
  await until(() => ask(one).count()).toBe(0);
  const closed = await closings(session);
  expect(closed).toHaveLength(1);
  expect(closed[0]!.data).toMatchObject({ confirmed: true, reason: "answered" });
  await say(one, '/call system_get_config {"section":"hooks"}');
  const told = await waitForRow(one, "Morning");
  expect((await told.innerText()).match(/Morning/g)).toHaveLength(1);
});
