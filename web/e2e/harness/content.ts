// Windows with content of any kind, as an agent opens them, and a look into their frames.

import type { Frame, Page } from "playwright-core";
import type { Action, Bounds, Content, SessionID } from "../../core/src/index.js";
import type { Hub } from "./hub.js";
import { until, windowOf } from "./verbs.js";

type Create = Extract<Action, { type: "window.create" }>;

const somewhere: Bounds = { x: 120, y: 80, w: 420, h: 300 };

/** Opens a window and waits until a page shows it. */
export async function show(hub: Hub, session: SessionID, page: Page, id: string, content: Content, more: Partial<Create> = {}): Promise<void> {
  await hub.rest.act(session, [{ type: "window.create", windowId: id, title: id, bounds: somewhere, content, ...more }]);
  await windowOf(page, id).waitFor();
}

/** The frame in which a document of an agent runs, once its script has marked the document as done. */
export async function doneFrame(hub: Hub, page: Page): Promise<Frame> {
  let found: Frame | undefined;
  await until(async () => {
    for (const frame of page.frames()) {
      if (!frame.url().startsWith(hub.appsUrl)) continue;
      const done = await frame.evaluate(() => document.documentElement.dataset.done === "yes").catch(() => false);
      if (done) found = frame;
    }
    return found !== undefined;
  }).toBe(true);
  return found!;
}

let settled = 0;

/** Lets everything happen that was begun: something goes to the hub and comes back. */
export async function settle(hub: Hub, session: SessionID, page: Page): Promise<void> {
  const id = `settled-${++settled}`;
  await hub.rest.act(session, [{ type: "toast.show", id, message: id }]);
  await page.locator(`[data-toast-id="${id}"]`).waitFor();
}
