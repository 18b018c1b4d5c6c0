// Lost and restored networks.

import { expect, it } from "vitest";
import { recordLinkStates, sendMessage, shownRows, until, waitForLink, waitForRow } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { TcpProxy } from "./harness/proxy.js";

const desktop = desktopFixture();

/** The states that the chip reports as a problem. */
const problemStates = ["reconnecting", "offline", "stopped"];

it("ten seconds without a network: nothing is reported for 3 s, and a message sent meanwhile arrives once", async () => {
  desktop.guard.expectLostHub();
  const wire = await TcpProxy.to(desktop.hub.url);
  desktop.guard.allowOrigin(wire.url);
  try {
    const session = await desktop.hub.rest.newSession("offline");
    const profile = await desktop.profile();
    const page = await profile.newPage();
    await page.goto(desktop.hub.entry.replace(desktop.hub.url, wire.url));
    await page.goto(desktop.address(session).replace(desktop.hub.url, wire.url));
    await waitForLink(page, "live");
    await sendMessage(page, "/say before");
    await waitForRow(page, "before");

    const states = await recordLinkStates(page);
    wire.disconnect();
    await profile.setOffline(true);
    await page.locator("[data-link=offline], [data-link=reconnecting]").first().waitFor();
    await sendMessage(page, "/say from the dark");
    await page.locator("[data-message-id]").filter({ hasText: "from the dark" }).waitFor();
    await desktop.hub.rest.sendMessage(session, "/say meanwhile");
    await until(async () => (await states()).at(-1)!.after > 0 && (await page.evaluate(() => performance.now())) > 10_000).toBe(true);
    expect(await shownRows(page, "assistant")).toHaveLength(1);

    const caughtUp = page.locator("[data-link=live]").filter({ hasText: /caught up/i }).waitFor(); // it is shown for a moment only
    wire.reconnect();
    await profile.setOffline(false);
    await caughtUp;
    await waitForRow(page, "from the dark");
    await waitForRow(page, "meanwhile");
    const said = (await desktop.hub.rest.rows(session)).filter((r) => r.say === "user_feedback" && r.text?.includes("from the dark"));
    expect(said).toHaveLength(1);
    await until(() => page.locator("[data-message-id][data-message-status=sending]").count()).toBe(0);
    expect((await shownRows(page, "user")).filter((r) => r.text.includes("from the dark"))).toHaveLength(1);

    const bad = (await states()).find((s) => problemStates.includes(s.state))!;
    expect(bad.after, "when trouble was first shown").toBeGreaterThan(2_900);
    expect((await states()).at(-1)!.state).toBe("live");
  } finally {
    wire.close();
  }
});

it("a short interruption of the connection is not reported", async () => {
  desktop.guard.expectLostHub();
  const wire = await TcpProxy.to(desktop.hub.url);
  desktop.guard.allowOrigin(wire.url);
  try {
    const session = await desktop.hub.rest.newSession("a blink");
    const page = await (await desktop.profile()).newPage();
    await page.goto(desktop.hub.entry.replace(desktop.hub.url, wire.url));
    await page.goto(desktop.address(session).replace(desktop.hub.url, wire.url));
    await waitForLink(page, "live");
    const states = await recordLinkStates(page);
    wire.disconnect();
    wire.reconnect();
    await sendMessage(page, "/say on we go");
    await waitForRow(page, "on we go");
    await waitForLink(page, "live");
    // A machine that is too busy to reconnect within 3 s makes the interruption a long one.
    const bad = (await states()).find((s) => problemStates.includes(s.state));
    expect(bad?.after ?? Infinity, "when trouble was first shown").toBeGreaterThan(2_900);
  } finally {
    wire.close();
  }
});
