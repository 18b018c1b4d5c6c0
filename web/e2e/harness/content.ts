// Opens windows with content of any kind, as agents do, and inspects their frames.

import type { Frame, Page } from "playwright-core";
import type { Action, Bounds, Content, SessionID } from "../../core/src/index.js";
import { until, windowOf } from "./desktop-page.js";
import type { Hub } from "./hub.js";

type Create = Extract<Action, { type: "window.create" }>;

const defaultBounds: Bounds = { x: 120, y: 80, w: 420, h: 300 };

/** Opens a window and waits until a page shows it. */
export async function showWindow(hub: Hub, session: SessionID, page: Page, id: string, content: Content, more: Partial<Create> = {}): Promise<void> {
  await hub.rest.runActions(session, [{ type: "window.create", windowId: id, title: id, bounds: defaultBounds, content, ...more }]);
  await windowOf(page, id).waitFor();
}

/** The frame of an agent's document, once its script has set data-done. */
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

let roundTrips = 0;

/** Waits for a round trip to the hub, so that everything sent before has been handled. */
export async function roundTrip(hub: Hub, session: SessionID, page: Page): Promise<void> {
  const id = `settled-${++roundTrips}`;
  await hub.rest.runActions(session, [{ type: "toast.show", id, message: id }]);
  await page.locator(`[data-toast-id="${id}"]`).waitFor();
}
