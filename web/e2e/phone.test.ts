// The same session on a phone, and the QR code that opens it there.

import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, it } from "vitest";
import { questionCard, sendMessage, until, waitForRow, waitUntilArmed, windowOf } from "./harness/desktop-page.js";
import { desktopFixture, ready } from "./harness/fixture.js";

const desktop = desktopFixture();

const phone: BrowserContextOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

const openPhonePage = (page: Page, to: "chat" | "windows" | "inbox"): Promise<void> => page.locator(`[data-page=${to}]`).tap();

/** Whether nothing is wider than the screen. */
async function fitsScreen(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.body.scrollWidth <= innerWidth);
}

it("chat, windows and questions work by touch", async () => {
  const session = await desktop.hub.rest.newSession("phone");
  const page = await desktop.tab({ session, context: phone });
  await sendMessage(page, "/say hello from the phone\n/window note Shopping | # Milk");
  await waitForRow(page, "hello from the phone");
  expect(await fitsScreen(page)).toBe(true);

  await openPhonePage(page, "windows");
  await page.getByRole("button", { name: /Shopping/ }).tap();
  await page.getByRole("heading", { name: "Milk" }).waitFor();
  expect(await fitsScreen(page)).toBe(true);
  await page.goBack();
  await page.getByRole("button", { name: /Shopping/ }).waitFor();

  await desktop.hub.rest.runActions(session, [{ type: "dialog.confirm", id: "thumb", title: "With a thumb?", message: "It is easy." }]);
  await questionCard(page, "thumb").waitFor();
  expect(await fitsScreen(page)).toBe(true);
  const later = questionCard(page).getByRole("button", { name: /^later/i });
  await waitUntilArmed(later);
  await later.tap();
  await until(() => questionCard(page).filter({ visible: true }).count()).toBe(0);
  await openPhonePage(page, "inbox");
  await page.getByText("With a thumb?").first().waitFor();
  const approve = page.getByRole("button", { name: /^(approve|delete|run)/i }).first();
  await waitUntilArmed(approve);
  await approve.tap();
  await until(async () => (await desktop.hub.rest.events(session)).filter((e) => e.type === "DIALOG_CLOSED").length).toBe(1);

  const small = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("button, a, input, textarea, [role=tab]")]
      .filter((e) => e.checkVisibility({ checkVisibilityCSS: true, checkOpacity: true }))
      .map((e) => ({ name: e.ariaLabel ?? e.innerText, box: e.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 1 && (box.width < 24 || box.height < 24))
      .map(({ name }) => name),
  );
  expect(small, "targets that are too small").toEqual([]);
});

/** Confirms joining; nothing is accessible before. */
async function acceptInvitation(page: Page): Promise<void> {
  const yes = page.getByRole("button", { name: "Join", exact: true });
  await yes.waitFor();
  expect(new URL(page.url()).hash, "the ticket is not left in the history").toBe("");
  expect(await page.context().cookies(), "what lets it in before it is asked").toEqual([]);
  await yes.click();
}

it("a link on the desktop opens the session on a phone, once", async () => {
  const session = await desktop.hub.rest.newSession("to go");
  const page = await desktop.tab({ session });
  await sendMessage(page, "/say said at the desk");
  await waitForRow(page, "said at the desk");
  await page.getByRole("button", { name: "Menu", exact: true }).click();
  const ticket = page.waitForResponse((r) => r.url().endsWith("/api/join-tickets"));
  await page.getByRole("menuitem", { name: /phone/i }).click();
  const { url } = (await (await ticket).json()) as { url: string };
  // A phone could not reach the address of this hub, so there is a link for this computer and no code.
  await page.getByText("This link opens it in another browser on this computer.").waitFor();
  expect(await page.locator("dialog[open] svg[role=img]").count(), "QR codes").toBe(0);
  expect(new URL(url).hash.length).toBeGreaterThan(10);

  const pocket = await (await desktop.profile({}, phone)).newPage();
  await pocket.goto(url);
  await acceptInvitation(pocket);
  await ready(pocket);
  expect(new URL(pocket.url()).searchParams.get("session")).toBe(session);
  await waitForRow(pocket, "said at the desk");
  await sendMessage(pocket, "/window pocket From the pocket | # Hi");
  await windowOf(page, "pocket").waitFor();

  desktop.guard.expect(/status of 401/);
  const stranger = await (await desktop.profile({}, phone)).newPage();
  await stranger.goto(url);
  await acceptInvitation(stranger);
  await stranger.getByRole("alert").waitFor();
  expect(await stranger.locator("[data-command-bar]").count()).toBe(0);
  expect((await stranger.context().cookies()).length).toBe(0);
  // The device has access to this session and no other.
  const others = await pocket.evaluate(async () => (await fetch("/api/sessions")).json() as Promise<{ sessions: { sessionId: string }[] }>);
  expect((others.sessions ?? []).map((s) => s.sessionId).filter((id) => id !== session)).toEqual([]);
});
