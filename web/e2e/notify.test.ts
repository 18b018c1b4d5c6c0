// Notifications of the browser: one per thing, however many tabs there are.

import type { BrowserContext, Page } from "playwright-core";
import { expect, it } from "vitest";
import { settle } from "./harness/content.js";
import { stage } from "./harness/stage.js";
import { say, until } from "./harness/verbs.js";

const desktop = stage();

/** Makes the browser of a profile count its notifications; nobody looks at any of its tabs. */
async function counting(profile: BrowserContext): Promise<string[]> {
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

/** Whether a tab that is the only one left speaks for the browser; for a moment after another has gone nobody does. */
function leads(page: Page): Promise<boolean> {
  return page.evaluate(async () => {
    const { held = [], pending = [] } = await navigator.locks.query();
    const lead = (lock: LockInfo): boolean => lock.name?.startsWith("everdesk.leader.") === true;
    return held.some(lead) && !pending.some(lead);
  });
}

it("two tabs of a browser show one notification for what is finished, what failed and what is asked", async () => {
  const session = await desktop.hub.rest.newSession("notify");
  const profile = await desktop.profile({ notify: true });
  const shown = await counting(profile);
  const one = await desktop.tab({ session, profile });
  const two = await desktop.tab({ session, profile });

  await say(one, "/sleep 100ms\n/say all done");
  await until(() => shown.length).toBe(1);
  await say(two, "/fail it broke");
  await until(() => shown.length).toBe(2);
  await desktop.hub.rest.act(session, [{ type: "dialog.confirm", id: "need", title: "Needs you", message: "Please decide." }]);
  await until(() => shown.length).toBe(3);
  expect(shown.some((s) => s.includes("Needs you"))).toBe(true);
  await settle(desktop.hub, session, one);
  await settle(desktop.hub, session, two);
  expect(shown).toHaveLength(3);
  await until(() => one.title()).toMatch(/\(\d+\)/);

  await one.close();
  await until(() => leads(two)).toBe(true);
  await say(two, "/sleep 100ms\n/say from the tab that is left");
  await until(() => shown.length).toBe(4);
  await settle(desktop.hub, session, two);
  expect(shown).toHaveLength(4);
});

it("who did not ask for notifications gets none", async () => {
  const session = await desktop.hub.rest.newSession("quiet");
  const profile = await desktop.profile({ notify: false });
  const shown = await counting(profile);
  const page = await desktop.tab({ session, profile });
  await say(page, "/fail it broke");
  await until(() => page.locator("[data-row][data-kind=error]").count()).toBeGreaterThan(0);
  await settle(desktop.hub, session, page);
  expect(shown).toEqual([]);
});
