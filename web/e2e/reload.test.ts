// Reloads the page again and again in the middle of an answer.

import { afterAll, expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { sendMessage, shownRows, until } from "./harness/desktop-page.js";
import { EndlessModel } from "./harness/endless.js";
import { desktopFixture, ready } from "./harness/fixture.js";

const model = await EndlessModel.start();
afterAll(() => model.stop());
// With the rate limits of users, since users do this; and over Redis, where those limits are shared.
const desktop = desktopFixture({ limited: true, redis: true, flags: model.flags });

/** The words of the answers in the hub's log. */
async function answers(session: SessionID): Promise<string[]> {
  const rows = (await desktop.hub.rest.rows(session)).filter((r) => r.say === "text" && r.partial !== true);
  return rows.map((r) => plain(r.text ?? ""));
}

async function isComplete(session: SessionID): Promise<boolean> {
  return ((await desktop.hub.rest.snapshot(session)).agents ?? []).every((a) => a.status === "idle");
}

it("a page that is reloaded 20 times in the middle of an answer ends with the whole answer, once", async () => {
  const session = await desktop.hub.rest.newSession("reloads");
  const page = await desktop.tab({ session });
  await sendMessage(page, "go on until I have seen enough");
  await page.locator("[data-stream]").first().waitFor();
  for (let n = 0; n < 20; n++) {
    await page.reload();
    await ready(page);
  }
  expect(await isComplete(session), "the reloads must happen while the answer runs").toBe(false);
  model.finish();
  await until(() => isComplete(session)).toBe(true);
  const whole = Array.from({ length: model.words }, (_, n) => `w${n + 1}`).join(" ");
  expect(await answers(session)).toEqual([whole]);
  await until(async () => (await shownRows(page, "assistant")).map((r) => plain(r.text).includes(whole))).toEqual([true]);
  expect(await page.locator("[data-stream]").count()).toBe(0);
  expect(await shownRows(page, "user")).toHaveLength(1);
});

function plain(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
