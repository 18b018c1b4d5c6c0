// Actions on the desktop page, and what it shows.

import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { Bounds } from "../../core/src/index.js";
import { waitLimit } from "./limits.js";

/** A row of the conversation as shown. */
export interface ShownRow {
  ts: string;
  kind: string;
  text: string;
}

export function commandBar(page: Page): Locator {
  return page.locator("[data-command-bar]");
}

/** Types a message and sends it. */
export async function sendMessage(page: Page, text: string): Promise<void> {
  await commandBar(page).fill(text);
  await commandBar(page).press("Enter");
}

export function windowOf(page: Page, id: string): Locator {
  return page.locator(`section[data-window-id="${id}"]`);
}

export function titleBar(page: Page, id: string): Locator {
  return windowOf(page, id).locator("[data-title-bar]");
}

/** The ids of the shown windows, sorted. */
export async function shownWindows(page: Page): Promise<string[]> {
  return page.locator("section[data-window-id]").evaluateAll((all) => all.map((w) => w.getAttribute("data-window-id")!).sort());
}

export async function shownRows(page: Page, kind?: string): Promise<ShownRow[]> {
  const all = await page.locator("[data-row]").evaluateAll((rows) =>
    rows.map((r) => ({ ts: r.getAttribute("data-row")!, kind: r.getAttribute("data-kind")!, text: (r as HTMLElement).innerText })),
  );
  return kind === undefined ? all : all.filter((r) => r.kind === kind);
}

/** Waits for a row of the conversation with a text. */
export async function waitForRow(page: Page, text: string | RegExp, kind = "assistant"): Promise<Locator> {
  const row = page.locator(`[data-row][data-kind=${kind}]`).filter({ hasText: text }).first();
  await row.waitFor();
  return row;
}

/** Waits until the page shows a state of the connection. */
export async function waitForLink(page: Page, state: string): Promise<void> {
  await page.locator(`[data-link=${state}]`).first().waitFor();
}

/** Records all states of the connection that a page shows from now on, with their times. */
export async function recordLinkStates(page: Page): Promise<() => Promise<{ state: string; after: number }[]>> {
  await page.evaluate(() => {
    const seen: { state: string; after: number }[] = [];
    const begin = performance.now();
    const record = (): void => {
      const state = document.querySelector("[data-link]")?.getAttribute("data-link") ?? "";
      if (seen.at(-1)?.state !== state) seen.push({ state, after: performance.now() - begin });
    };
    new MutationObserver(record).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-link"] });
    record();
    Object.assign(globalThis, { linkStates: seen });
  });
  return () => page.evaluate(() => (globalThis as unknown as { linkStates: { state: string; after: number }[] }).linkStates);
}

/** The bounds at which a window is drawn, relative to the canvas. */
export async function shownBounds(page: Page, id: string): Promise<Bounds> {
  return windowOf(page, id).evaluate((w) => {
    const canvas = w.closest("main")!.getBoundingClientRect();
    const r = w.getBoundingClientRect();
    const round = Math.round;
    return { x: round(r.x - canvas.x), y: round(r.y - canvas.y), w: round(r.width), h: round(r.height) };
  });
}

/** The centre of an element. */
export async function centre(of: Locator): Promise<{ x: number; y: number }> {
  const box = await of.boundingBox();
  if (box === null) throw new Error("it is not shown");
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** Presses the mouse at a point, moves it in several steps, and releases it unless `release` is false. */
export async function drag(page: Page, from: { x: number; y: number }, by: { x: number; y: number }, release = true): Promise<void> {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(from.x + by.x, from.y + by.y, { steps: 8 });
  if (release) await page.mouse.up();
}

/** Polls until an expectation holds. */
export function until<T>(look: () => Promise<T> | T): ReturnType<typeof expect.poll<T>> {
  return expect.poll(look, { timeout: waitLimit, interval: 50 });
}

/** The card of a question, in the top layer. */
export function questionCard(page: Page, id?: string): Locator {
  return page.locator(id === undefined ? "dialog[data-ask-id]" : `dialog[data-ask-id="${id}"]`);
}

/** Waits until the buttons of a question are armed. */
export async function waitUntilArmed(button: Locator): Promise<void> {
  await until(() => button.isEnabled()).toBe(true);
  await until(() => button.getAttribute("aria-disabled")).not.toBe("true");
}
