// People in one session whose tabs are connected to different hubs.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "./harness/desktop-page.js";
import { desktopFixture, ready } from "./harness/fixture.js";
import { Hub } from "./harness/hub.js";
import { Rest } from "./harness/rest.js";
import { Issuer } from "./harness/token.js";

const issuer = new Issuer();
const desktop = desktopFixture({ redis: true, flags: [...issuer.flags, "--replica-id", "hub-a"] });
let second: Hub;

beforeAll(async () => {
  second = await Hub.start({ redis: desktop.hub.redis!, flags: [...issuer.flags, "--replica-id", "hub-b"] });
});

afterAll(async () => {
  await second.stop();
  issuer.close();
});

/** A tab of a user at a hub. */
async function tabAt(hub: Hub, user: string, session: string): Promise<Page> {
  const profile = await desktop.profile();
  expect((await profile.request.post(`${hub.url}/api/login`, { data: { token: issuer.token(user, "user") } })).status()).toBe(200);
  const page = await profile.newPage();
  await page.goto(`${hub.url}/?${new URLSearchParams({ session })}`);
  await ready(page);
  return page;
}

it("the pointer of a person at another hub is seen, and goes when it leaves the desktop", async () => {
  desktop.guard.allowOrigin(second.url);
  desktop.guard.allowOrigin(second.appsUrl);
  const rest = new Rest(desktop.hub.url, issuer.token("ada", "user"));
  const session = await rest.newSession("far");
  await rest.request("PUT", `/api/sessions/${session}/shares/bob`, { access: "viewer" });
  const [ada, bob] = [await tabAt(desktop.hub, "ada", session), await tabAt(second, "bob", session)];
  for (const page of [ada, bob]) await page.locator(".win-cursors").waitFor({ state: "attached" });
  const box = (await bob.locator(".win-canvas").boundingBox())!;
  const cursor = ada.locator("[data-cursor=bob]");
  // A pointer that does not move is hidden after some seconds, so it moves until it is seen.
  await until(async () => {
    await bob.mouse.move(box.x + box.width * 0.1, box.y + box.height * 0.1);
    await bob.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.25);
    return cursor.count();
  }).toBe(1);
  expect(await cursor.innerText()).toBe("bob");
  await bob.mouse.move(5, 5);
  await cursor.waitFor({ state: "detached" });
});
