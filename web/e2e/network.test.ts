// Networks go away and come back.

import { expect, it } from "vitest";
import { stage } from "./harness/stage.js";
import { followLink, say, shownRows, until, waitForLink, waitForRow } from "./harness/verbs.js";
import { Wire } from "./harness/wire.js";

const desktop = stage();

/** What the chip says when a person should know. */
const trouble = ["reconnecting", "offline", "stopped"];

it("ten seconds without a network: nothing is said for 3 s, and a message sent in between arrives once", async () => {
  desktop.guard.expectLostHub();
  const wire = await Wire.to(desktop.hub.url);
  desktop.guard.welcome(wire.url);
  try {
    const session = await desktop.hub.rest.newSession("offline");
    const profile = await desktop.profile();
    const page = await profile.newPage();
    await page.goto(desktop.hub.entry.replace(desktop.hub.url, wire.url));
    await page.goto(desktop.address(session).replace(desktop.hub.url, wire.url));
    await waitForLink(page, "live");
    await say(page, "/say before");
    await waitForRow(page, "before");

    const states = await followLink(page);
    wire.cut();
    await profile.setOffline(true);
    await page.locator("[data-link=offline], [data-link=reconnecting]").first().waitFor();
    await say(page, "/say from the dark");
    await page.locator("[data-message-id]").filter({ hasText: "from the dark" }).waitFor();
    await desktop.hub.rest.say(session, "/say meanwhile");
    await until(async () => (await states()).at(-1)!.after > 0 && (await page.evaluate(() => performance.now())) > 10_000).toBe(true);
    expect(await shownRows(page, "assistant")).toHaveLength(1);

    const caughtUp = page.locator("[data-link=live]").filter({ hasText: /caught up/i }).waitFor(); // it is shown for a moment only
    wire.mend();
    await profile.setOffline(false);
    await caughtUp;
    await waitForRow(page, "from the dark");
    await waitForRow(page, "meanwhile");
    const said = (await desktop.hub.rest.rows(session)).filter((r) => r.say === "user_feedback" && r.text?.includes("from the dark"));
    expect(said).toHaveLength(1);
    await until(() => page.locator("[data-message-id][data-message-status=sending]").count()).toBe(0);
    expect((await shownRows(page, "user")).filter((r) => r.text.includes("from the dark"))).toHaveLength(1);

    const bad = (await states()).find((s) => trouble.includes(s.state))!;
    expect(bad.after, "when trouble was first shown").toBeGreaterThan(2_900);
    expect((await states()).at(-1)!.state).toBe("live");
  } finally {
    wire.close();
  }
});

it("a short cut of the connection is not worth a word", async () => {
  desktop.guard.expectLostHub();
  const wire = await Wire.to(desktop.hub.url);
  desktop.guard.welcome(wire.url);
  try {
    const session = await desktop.hub.rest.newSession("a blink");
    const page = await (await desktop.profile()).newPage();
    await page.goto(desktop.hub.entry.replace(desktop.hub.url, wire.url));
    await page.goto(desktop.address(session).replace(desktop.hub.url, wire.url));
    await waitForLink(page, "live");
    const states = await followLink(page);
    wire.cut();
    wire.mend();
    await say(page, "/say on we go");
    await waitForRow(page, "on we go");
    await waitForLink(page, "live");
    // A machine that is too busy to connect again within 3 s makes the cut a long one.
    const bad = (await states()).find((s) => trouble.includes(s.state));
    expect(bad?.after ?? Infinity, "when trouble was first shown").toBeGreaterThan(2_900);
  } finally {
    wire.close();
  }
});
