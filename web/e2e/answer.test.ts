// An answer continues whatever happens to the page, and is shown once and complete.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { roundTrip } from "./harness/content.js";
import { sendMessage, shownRows, until, waitForLink, waitForRow, windowOf } from "./harness/desktop-page.js";
import { desktopFixture, devtools } from "./harness/fixture.js";

const desktop = desktopFixture();

async function isComplete(session: SessionID): Promise<boolean> {
  return ((await desktop.hub.rest.snapshot(session)).agents ?? []).every((a) => a.status === "idle");
}

/** The shown words of the answer, from its row or from the growing text. */
async function wordsOf(page: Page): Promise<string[]> {
  return (await shownRows(page, "assistant")).flatMap((r) => r.text.match(/\bword\d+|\b\d+\b/g) ?? []);
}

it("a tab that was frozen in the background shows the events it missed", async () => {
  const session = await desktop.hub.rest.newSession("frozen");
  const page = await desktop.tab({ session });
  const other = await desktop.tab({ session });
  const dev = await devtools(page);
  await sendMessage(page, "/stream 120 60");
  await page.locator("[data-stream]").first().waitFor();
  await dev.send("Page.setWebLifecycleState", { state: "frozen" });
  await until(() => isComplete(session)).toBe(true);
  await sendMessage(other, "/window late Later | # While it slept");
  await windowOf(other, "late").waitFor();
  await until(() => isComplete(session)).toBe(true); // an answer ends with a row
  await roundTrip(desktop.hub, session, other);
  await dev.send("Page.setWebLifecycleState", { state: "active" });
  await windowOf(page, "late").getByText("While it slept").waitFor();
  await until(async () => plainRows(await shownRows(page))).toEqual(plainRows(await shownRows(other)));
  expect(await wordsOf(page)).toEqual(await wordsOf(other));
});

it("a hub killed in the middle of an answer resumes it after a restart, without duplicates", async () => {
  desktop.guard.expectLostHub();
  const session = await desktop.hub.rest.newSession("killed");
  const page = await desktop.tab({ session });
  await sendMessage(page, "/window keep To keep | # Still here");
  await windowOf(page, "keep").waitFor();
  await sendMessage(page, "/say before\n/call window_list {}\n/sleep 2s\n/call window_list {}\n/say after the break");
  await page.locator("[data-stream]").first().waitFor();
  await desktop.hub.kill();
  await waitForLink(page, "reconnecting");
  expect(await windowOf(page, "keep").isVisible(), "what was shown stays").toBe(true);
  await desktop.hub.up();
  await waitForLink(page, "live");
  await waitForRow(page, "after the break");
  await until(() => isComplete(session)).toBe(true);
  const whole = (await desktop.hub.rest.rows(session)).filter((r) => r.say === "text").map((r) => r.text ?? "");
  expect(whole.join("\n").match(/after the break/g)).toHaveLength(1);
  await until(async () => (await shownRows(page, "assistant")).map((r) => r.text).join("\n").match(/after the break/g)?.length).toBe(1);
  expect(await shownRows(page, "user")).toHaveLength(2);
  await windowOf(page, "keep").getByText("Still here").waitFor();
});

function plainRows(rows: { ts: string; kind: string }[]): string[] {
  return rows.map((r) => `${r.ts} ${r.kind}`);
}
