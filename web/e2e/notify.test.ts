// Notifications of the browser: one per event, however many tabs there are.

import type { BrowserContext, Page } from "playwright-core";
import { expect, it } from "vitest";
import { roundTrip } from "./harness/content.js";
import { sendMessage, until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

/** Makes the browser of a profile count its notifications; none of its tabs has the focus. */
async function countNotifications(profile: BrowserContext): Promise<string[]> {
  const shown: string[] = [];
  await profile.exposeBinding("notified", (_, title: string) => void shown.push(title));
  await profile.addInitScript(() => {
    class Counted extends EventTarget {
      static permission = "granted";
      static requestPermission = (): Promise<string> => Promise.resolve("granted");
      onclick: unknown = null;
      constructor(title: string, options?: { body?: string }) {
        super();
        (globalThis as unknown as { notified: (t: string) => void }).notified(`${title}: ${options?.body ?? ""}`);
      }
      close(): void {}
    }
    Object.assign(globalThis, { Notification: Counted });
    Object.defineProperty(Document.prototype, "visibilityState", { get: () => "hidden" });
    Object.defineProperty(Document.prototype, "hidden", { get: () => true });
    Document.prototype.hasFocus = () => false;
  });
  return shown;
}

/** Whether the only remaining tab is the leader; for a moment after another tab was closed it is not. */
function isLeader(page: Page): Promise<boolean> {
  return page.evaluate(async () => {
    const { held = [], pending = [] } = await navigator.locks.query();
    const lead = (lock: LockInfo): boolean => lock.name?.startsWith("everdesk.leader.") === true;
    return held.some(lead) && !pending.some(lead);
  });
}

it("two tabs of a browser show one notification for a finished turn, a failed turn and a question", async () => {
  const session = await desktop.hub.rest.newSession("notify");
  const profile = await desktop.profile({ notify: true });
  const shown = await countNotifications(profile);
  const one = await desktop.tab({ session, profile });
  const two = await desktop.tab({ session, profile });

  await sendMessage(one, "/sleep 100ms\n/say all done");
  await until(() => shown.length).toBe(1);
  await sendMessage(two, "/fail it broke");
  await until(() => shown.length).toBe(2);
  await desktop.hub.rest.runActions(session, [{ type: "dialog.confirm", id: "need", title: "Needs you", message: "Please decide." }]);
  await until(() => shown.length).toBe(3);
  expect(shown.some((s) => s.includes("Needs you"))).toBe(true);
  await roundTrip(desktop.hub, session, one);
  await roundTrip(desktop.hub, session, two);
  expect(shown).toHaveLength(3);
  await until(() => one.title()).toMatch(/\(\d+\)/);

  await one.close();
  await until(() => isLeader(two)).toBe(true);
  await sendMessage(two, "/sleep 100ms\n/say from the tab that is left");
  await until(() => shown.length).toBe(4);
  await roundTrip(desktop.hub, session, two);
  expect(shown).toHaveLength(4);
});

it("without the preference there are no notifications", async () => {
  const session = await desktop.hub.rest.newSession("quiet");
  const profile = await desktop.profile({ notify: false });
  const shown = await countNotifications(profile);
  const page = await desktop.tab({ session, profile });
  await sendMessage(page, "/fail it broke");
  await until(() => page.locator("[data-row][data-kind=error]").count()).toBeGreaterThan(0);
  await roundTrip(desktop.hub, session, page);
  expect(shown).toEqual([]);
});
