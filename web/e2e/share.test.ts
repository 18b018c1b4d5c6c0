// Sharing a session: read-only links, and the pointers of other people.

import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { findViolations } from "./harness/axe.js";
import { sendMessage, until, waitForRow } from "./harness/desktop-page.js";
import { desktopFixture, ready, type TabOptions } from "./harness/fixture.js";
import { Rest } from "./harness/rest.js";
import { Issuer } from "./harness/token.js";

const issuer = new Issuer();
const desktop = desktopFixture({ flags: issuer.flags });

afterAll(() => issuer.close());

const restOf = (user: string): Rest => new Rest(desktop.hub.url, issuer.token(user, "user"));

/** A tab of a user who is signed in. */
async function tabOf(user: string, session: string, prefs: TabOptions["prefs"] = {}): Promise<Page> {
  const profile = await desktop.profile(prefs);
  expect((await profile.request.post(`${desktop.hub.url}/api/login`, { data: { token: issuer.token(user, "user") } })).status()).toBe(200);
  const page = await profile.newPage();
  await page.goto(desktop.address(session));
  await ready(page);
  return page;
}

/** Saves a picture for people who look at the pages, if E2E_PICTURES is set. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.E2E_PICTURES;
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) });
}

async function openShare(page: Page): Promise<Locator> {
  await page.getByRole("button", { name: "Menu", exact: true }).click();
  await page.getByRole("menuitem", { name: "Share…" }).click();
  const panel = page.getByRole("dialog", { name: "Share this session" });
  await panel.getByRole("button", { name: "Make a link" }).waitFor();
  return panel;
}

it("a read-only link shows the session to someone who is not signed in, until it is revoked", async () => {
  const session = await restOf("ada").newSession("shared");
  const page = await tabOf("ada", session);
  await sendMessage(page, "/window one First | # Number one\n/say opened one");
  await waitForRow(page, "opened one");
  const panel = await openShare(page);
  await panel.getByLabel("Who is it for?").fill("Review");
  await page.keyboard.press("Enter");
  const field = panel.getByLabel("Read-only link", { exact: true });
  const link = await field.inputValue();
  expect(link).toMatch(new RegExp(`^${desktop.hub.url}/link#edl_`));
  expect(await findViolations(page), "violations of the panel").toEqual([]);
  await picture(page, "share-dark");

  const profile = await desktop.profile({ theme: "light" });
  const guest = await profile.newPage();
  const asked: string[] = [];
  guest.on("request", (r) => asked.push(`${r.url()} ${r.headers().referer ?? ""}`));
  await guest.goto(link);
  await guest.locator("[data-guest=live]").waitFor();
  await guest.locator('[data-film-window="one"]').getByText("Number one").waitFor();
  await guest.getByRole("heading", { name: "View only" }).waitFor();
  await guest.getByText("opened one").first().waitFor();
  expect(await guest.locator("textarea, input, [contenteditable=true]").count(), "fields to type into").toBe(0);
  const secret = link.slice(-16); // its end is random, and may contain any letter of base64
  expect(asked.filter((a) => a.includes(secret)), "requests with the secret in the address or the referrer").toEqual([]);
  expect(await findViolations(guest), "violations of the guest's page").toEqual([]);
  await picture(guest, "guest-light");

  // It follows the session, and a reload opens the link again.
  await restOf("ada").sendMessage(session, "/window two Second | # Number two");
  await guest.locator('[data-film-window="two"]').waitFor();
  await guest.reload();
  await guest.locator('[data-film-window="two"]').getByText("Number two").waitFor();

  const revoke = panel.getByRole("button", { name: "Revoke the link: Review" });
  await revoke.focus();
  desktop.guard.expect(/401/);
  await page.keyboard.press("Enter");
  await panel.locator("[data-read-link]").waitFor({ state: "detached" });
  await guest.getByRole("heading", { name: "This link was revoked." }).waitFor();
  await guest.reload();
  await guest.locator("[data-guest-ended=ended]").waitFor();
  await until(() => guest.locator("[data-film-window]").count()).toBe(0);
  await picture(guest, "guest-ended");
});

it("a link to a moment shows that moment to someone who is not signed in, and nothing of the session since", async () => {
  const session = await restOf("ada").newSession("moment");
  const page = await tabOf("ada", session);
  await sendMessage(page, "/window one First | # Number one\n/say opened one");
  await waitForRow(page, "opened one");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await page.keyboard.type("watch what happened");
  await page.getByRole("option", { name: "Watch what happened as a film" }).waitFor();
  await page.keyboard.press("Enter");
  const film = page.locator('dialog.film[data-film="ready"]');
  await film.locator('[data-film-window="one"]').waitFor();
  await film.getByText("opened one").first().waitFor();
  await film.getByRole("button", { name: "Share this moment" }).click();
  const shared = film.locator("[data-film-shared]");
  await shared.waitFor();
  const link = (await shared.getAttribute("data-film-shared"))!;
  expect(link).toMatch(new RegExp(`^${desktop.hub.url}/link#edo_`));
  expect(await findViolations(page), "violations of the film").toEqual([]);
  await page.keyboard.press("Escape");
  await film.waitFor({ state: "detached" });
  await sendMessage(page, "/window two Second | # Number two\n/say opened two");
  await waitForRow(page, "opened two");

  const profile = await desktop.profile({ theme: "light" });
  const guest = await profile.newPage();
  const answers: string[] = [];
  guest.on("response", (r) => answers.push(`${r.status()} ${new URL(r.url()).pathname}`));
  const sockets: string[] = [];
  guest.on("websocket", (ws) => sockets.push(ws.url()));
  await guest.goto(link);
  await guest.locator("[data-guest=moment]").waitFor();
  await guest.locator('[data-film-window="one"]').getByText("Number one").waitFor();
  await guest.getByRole("heading", { name: /^View only: / }).waitFor();
  await guest.getByText("opened one").first().waitFor();
  expect(await guest.locator('[data-film-window="two"]').count(), "windows of a later moment").toBe(0);
  expect(await guest.locator("body").innerText()).not.toContain("opened two");
  expect(await guest.locator("textarea, input, [contenteditable=true]").count(), "fields to type into").toBe(0);
  expect(await findViolations(guest), "violations of the page of a moment").toEqual([]);
  await picture(guest, "guest-moment-light");
  expect(sockets, "connections to the session").toEqual([]);
  expect(
    answers.filter((a) => a.includes("/api/")),
    "requests of the page",
  ).toEqual(["200 /api/links/open", `200 /api/sessions/${session}/moment`]);
  // The page cannot ask for more than the moment.
  desktop.guard.expect(/401/);
  const more = await guest.evaluate(
    (paths) => Promise.all(paths.map(async (path) => (await fetch(path)).status)),
    ["", "/snapshot", "/messages", "/rows", "/events", "/film", "/files"].map((p) => `/api/sessions/${session}${p}`),
  );
  expect(more, "requests for the rest of the session").toEqual(Array(7).fill(401));

  // It disappears when the link expires.
  await guest.clock.install();
  await guest.reload();
  await guest.locator("[data-guest=moment]").waitFor();
  await guest.clock.fastForward(31 * 24 * 3_600_000);
  await guest.locator("[data-guest-ended=expired]").waitFor();
  await guest.clock.setSystemTime(Date.now());

  // A reload opens it again, until it is revoked in the panel.
  await guest.reload();
  await guest.locator('[data-film-window="one"]').waitFor();
  const panel = await openShare(page);
  await panel.getByRole("button", { name: "Revoke the link: Moment" }).click();
  await panel.locator("[data-read-link]").waitFor({ state: "detached" });
  desktop.guard.expect(/401/);
  await guest.reload();
  await guest.locator("[data-guest-ended=ended]").waitFor();
  expect(await guest.locator("[data-film-window]").count()).toBe(0);
});

it("the owner who opens the own link gets the own desktop", async () => {
  const session = await restOf("ada").newSession("own");
  const { url } = await restOf("ada").request<{ url: string }>("POST", `/api/sessions/${session}/links`, {});
  const page = await tabOf("ada", session, { language: "ko" });
  await page.goto(url);
  await page.waitForURL(`${desktop.hub.url}/?session=${session}`);
  await page.locator("[data-link=live]").first().waitFor();
  // A link of which a part is missing says so, in the language of the browser.
  desktop.guard.expect(/401/);
  const profile = await desktop.profile({ language: "ko" });
  const guest = await profile.newPage();
  await guest.goto(url.slice(0, -3));
  await guest.getByRole("heading", { name: "이 링크는 더 이상 쓸 수 없어요." }).waitFor();
});

it("people in the same session see each other's pointers, unless they do not want to be seen", async () => {
  const session = await restOf("ada").newSession("pointers");
  await restOf("ada").request("PUT", `/api/sessions/${session}/shares/bob`, { access: "viewer" });
  const [ada, bob] = [await tabOf("ada", session, { theme: "light" }), await tabOf("bob", session)];
  for (const page of [ada, bob]) await page.locator(".win-cursors").waitFor({ state: "attached" });
  const move = async (page: Page, x: number, y: number): Promise<void> => {
    const box = (await page.locator(".win-canvas").boundingBox())!;
    await page.mouse.move(box.x + box.width * x, box.y + box.height * y);
  };
  const cursor = ada.locator("[data-cursor=bob]");
  // A pointer that does not move is hidden after some seconds, so it moves until it is seen.
  await until(async () => {
    await move(bob, 0.1, 0.1);
    await move(bob, 0.5, 0.25);
    return cursor.evaluateAll((all) => all.map((el) => [el.textContent, ...[el.style.left, el.style.top].map((v) => Math.round(Number.parseFloat(v)))]));
  }).toEqual([["bob", 50, 25]]);
  expect(await bob.locator("[data-cursor]").count(), "pointers of the own user").toBe(0);
  await picture(ada, "pointer-light");
  // A pointer that leaves the desktop is gone, and so is one that does not move.
  await bob.mouse.move(5, 5);
  await cursor.waitFor({ state: "detached" });

  await bob.getByRole("button", { name: "Menu", exact: true }).click();
  await bob.getByRole("menuitem", { name: "Settings…" }).click();
  const wanted = bob.getByRole("switch", { name: "Show my pointer to others" });
  await wanted.waitFor();
  expect(await findViolations(bob), "violations of the settings").toEqual([]);
  await wanted.click();
  await until(() => wanted.getAttribute("aria-checked")).toBe("false");
  await bob.keyboard.press("Escape");
  await wanted.waitFor({ state: "detached" });
  await until(async () => {
    await move(bob, 0.6, 0.6);
    await move(ada, 0.2, 0.2);
    await move(ada, 0.3, 0.3);
    return bob.locator("[data-cursor=ada]").count(); // later than a pointer of bob would arrive
  }).toBe(1);
  expect(await cursor.count(), "pointers of bob").toBe(0);
});

it("the owner hands the session over after a confirmation, and every tab shows it", async () => {
  const session = await restOf("ada").newSession("given");
  await restOf("ada").request("PUT", `/api/sessions/${session}/shares/bob`, { access: "viewer" });
  const [ada, bob] = [await tabOf("ada", session, { theme: "light" }), await tabOf("bob", session, { language: "ko" })];
  await sendMessage(ada, "/window one First | # Number one\n/say opened one");
  await waitForRow(ada, "opened one");
  const panel = await openShare(ada);
  // The hub knows no list of users, but who has a desktop: a mistyped name is seen.
  await panel.getByLabel("Name of the user").fill("bbo");
  await ada.keyboard.press("Enter");
  await panel.getByText("Invited: bbo").waitFor();
  const stranger = panel.locator("[data-person=bbo]");
  await stranger.getByText("Nobody with this name has a desktop here yet.").waitFor();
  await panel.getByRole("button", { name: "Hand over to bbo" }).click();
  await panel.getByRole("alertdialog").getByText("Nobody with this name has a desktop here yet.").waitFor();
  await ada.keyboard.press("Enter");
  await panel.getByRole("button", { name: "Stop sharing with bbo" }).click();
  await stranger.waitFor({ state: "detached" });
  const give = panel.getByRole("button", { name: "Hand over to bob" });
  await give.click();
  const ask = panel.getByRole("alertdialog");
  await ask.getByText("bob becomes the owner. You stay and can work.").waitFor();
  expect(await findViolations(ada), "violations of the question").toEqual([]);
  await picture(ada, "give-light");
  // The safe answer has the focus.
  await ada.keyboard.press("Enter");
  await ask.waitFor({ state: "detached" });
  expect((await restOf("ada").request<{ user: string }>("GET", `/api/sessions/${session}`)).user, "owner after the refusal").toBe("ada");

  await give.click();
  await ask.getByRole("button", { name: "Hand over to bob" }).click();
  await ada.getByText("bob is the owner of this session now.").first().waitFor();
  await bob.getByText("이제 이 세션의 소유자예요. 넘겨준 사람: ada").first().waitFor();
  await panel.getByText("Only the owner invites others.").waitFor();
  expect(await panel.locator("[data-person]").evaluateAll((all) => all.map((el) => el.getAttribute("data-person"))), "people that the operator sees").toEqual(["bob"]);
  desktop.guard.expectLostHub();
  await desktop.hub.kill();
  await desktop.hub.up();
  await bob.locator("[data-link=live]").first().waitFor();
  await bob.getByRole("button", { name: "메뉴", exact: true }).click();
  await bob.getByRole("menuitem", { name: "공유…" }).click();
  await bob.getByRole("dialog", { name: "이 세션 공유" }).getByRole("button", { name: "소유권 넘기기: ada" }).waitFor();
  expect(await findViolations(bob), "violations of the dark panel in Korean").toEqual([]);
  await ada.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  await sendMessage(ada, "/say ada still works");
  await waitForRow(bob, "ada still works");
});

it("an operator who is invited in the page works, a viewer looks on, and the list says who is here", async () => {
  const session = await restOf("ada").newSession("team");
  const ada = await tabOf("ada", session);
  const panel = await openShare(ada);
  await panel.getByLabel("Name of the user").fill("bob");
  await panel.getByRole("combobox", { name: "Access", exact: true }).selectOption("operator");
  await panel.getByRole("button", { name: "Invite" }).click();
  const person = panel.locator("[data-person=bob]");
  await person.waitFor();
  expect(await person.getByText("here now").count(), "bob is here before he opens it").toBe(0);

  const bob = await tabOf("bob", session);
  await person.getByText("here now").waitFor();
  await sendMessage(bob, "/say bob was here");
  await waitForRow(ada, "bob was here");

  await panel.getByLabel("Access of bob").selectOption("viewer");
  desktop.guard.expect(/403/);
  const field = bob.locator("[data-command-bar]");
  await until(async () => {
    if ((await field.count()) === 0 || (await field.isDisabled())) return "cannot send";
    await sendMessage(bob, "/say bob is only looking");
    return (await bob.getByText(/may only look|only look|rejected|refused|not allowed/i).count()) > 0 ? "cannot send" : "sent";
  }).toBe("cannot send");
  expect((await restOf("ada").rows(session)).filter((r) => r.say === "text" && r.text?.includes("only looking")), "answers to the viewer").toEqual([]);
  await bob.close();
  await person.getByText("here now").waitFor({ state: "detached" });
});

it("a session is shared, and its link made and revoked, with the keyboard", async () => {
  const session = await restOf("ada").newSession("keys");
  const page = await tabOf("ada", session);
  await page.evaluate(() => {
    for (const press of ["pointerdown", "mousedown"]) {
      addEventListener(press, () => { throw new Error("there is no mouse"); }, true);
    }
  });
  const tabTo = async (at: Locator): Promise<void> => {
    await at.waitFor();
    for (let n = 0; n < 80 && !(await at.evaluate((e) => e === document.activeElement)); n++) await page.keyboard.press("Tab");
    expect(await at.evaluate((e) => e === document.activeElement), `${at} is reached with Tab`).toBe(true);
  };
  await tabTo(page.getByRole("button", { name: "Menu", exact: true }));
  await page.keyboard.press("Enter");
  await page.keyboard.type("Share");
  const item = page.getByRole("menuitem", { name: "Share…" });
  for (let n = 0; n < 30 && !(await item.evaluate((e) => e === document.activeElement)); n++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const panel = page.getByRole("dialog", { name: "Share this session" });
  await tabTo(panel.getByLabel("Name of the user"));
  await page.keyboard.type("bob");
  await page.keyboard.press("Enter");
  await panel.locator("[data-person=bob]").waitFor();
  await tabTo(panel.getByLabel("Who is it for?"));
  await page.keyboard.type("Review");
  await page.keyboard.press("Enter");
  await panel.getByLabel("Read-only link", { exact: true }).waitFor();
  await tabTo(panel.getByRole("button", { name: "Revoke the link: Review" }));
  await page.keyboard.press("Enter");
  await panel.locator("[data-read-link]").waitFor({ state: "detached" });
  await tabTo(panel.getByRole("button", { name: "Stop sharing with bob" }));
  await page.keyboard.press("Enter");
  await panel.locator("[data-person=bob]").waitFor({ state: "detached" });
});
