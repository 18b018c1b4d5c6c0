// The example page with CopilotKit's own chat when its hub is killed and another one takes the session over, and when its
// connection is cut.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { count, KitSite, lostConnection, say, words } from "./harness/copilotkit.js";
import { until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { Hub } from "./harness/hub.js";
import { TcpProxy } from "./harness/proxy.js";

const site = await KitSite.start();
afterAll(() => site.stop());

const flags = ["--origins", site.origin, "--lease", "2s", "--auth", "none"];
const desktop = desktopFixture({ redis: true, flags });
let second: Hub;
beforeAll(async () => void (second = await Hub.start({ redis: desktop.hub.redis!, flags })));
afterAll(() => second.stop());

async function open(hub: string, thread: string): Promise<Page> {
  desktop.guard.allowOrigin(site.origin);
  desktop.guard.allowOrigin(hub);
  const page = await (await desktop.profile()).newPage();
  await page.goto(site.address(hub, thread, ""));
  await page.locator("textarea").waitFor();
  return page;
}

it.each(["owner", "follower"])("the page is on the %s when the owner is killed, and shows the answer once after the take-over", async (role) => {
  desktop.guard.expectLostHub();
  desktop.guard.expect(...lostConnection);
  const session = await desktop.hub.rest.newSession();
  await desktop.hub.rest.sendMessage(session, "/say Begun.");
  const wire = await TcpProxy.to(role === "owner" ? desktop.hub.url : second.url);
  try {
    const page = await open(wire.url, session);
    await until(() => count(page, "Begun.")).toBeGreaterThan(0);
    await say(page, "/stream 1500 200");
    await until(() => count(page, " w40 ")).toBe(1);
    await desktop.hub.kill();
    wire.retarget(second.url);
    await until(() => count(page, words(1500))).toBe(1);
    expect(await count(page, " w40 "), "pieces of the answer").toBe(1);
    await say(page, "/say Still here.");
    await until(() => count(page, "Still here.")).toBe(2);
  } finally {
    wire.close();
    await desktop.hub.up();
  }
});

it("a connection that is cut in mid-answer for seconds loses and repeats nothing", async () => {
  desktop.guard.expectLostHub();
  desktop.guard.expect(...lostConnection);
  const wire = await TcpProxy.to(desktop.hub.url);
  try {
    const page = await open(wire.url, await desktop.hub.rest.newSession());
    await say(page, "/stream 1500 200");
    for (const word of [" w40 ", " w400 "]) {
      await until(() => count(page, word)).toBe(1);
      wire.disconnect();
      const refused = desktop.guard.requests.length;
      await until(() => desktop.guard.requests.length).toBeGreaterThan(refused); // the page tries again
      wire.reconnect();
    }
    await until(() => count(page, words(1500))).toBe(1);
    expect(await count(page, " w40 "), "pieces of the answer").toBe(1);
  } finally {
    wire.close();
  }
});
