// An impatient person: the page is loaded again and again in the middle of an answer.

import { expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { ready, stage } from "./harness/stage.js";
import { say, shownRows, until } from "./harness/verbs.js";

// With the limits that people have, since this is what people do; and over Redis, where those limits are shared.
const desk = stage({ limited: true, redis: true });

/** The text of the last answer, as the hub keeps it. */
async function answer(session: SessionID): Promise<string> {
  const rows = (await desk.hub.rest.rows(session)).filter((r) => r.say === "text" && r.partial !== true);
  return rows.at(-1)?.text ?? "";
}

async function isOver(session: SessionID): Promise<boolean> {
  return ((await desk.hub.rest.snapshot(session)).agents ?? []).every((a) => a.status === "idle");
}

it("a page that is reloaded 20 times in the middle of an answer ends with the whole answer, once", async () => {
  const session = await desk.hub.rest.newSession("reloads");
  const page = await desk.tab({ session });
  const reload = async (): Promise<void> => {
    await page.reload();
    await ready(page);
  };
  // The answer takes twice as long as the reloads, however slow the machine is.
  const begin = Date.now();
  await reload();
  const words = Math.max(600, Math.ceil(60 * 2 * 20 * ((Date.now() - begin) / 1000)));
  await say(page, `/stream ${words} 60`);
  await page.locator("[data-stream]").first().waitFor();
  for (let n = 0; n < 20; n++) await reload();
  expect(await isOver(session), "the reloads must happen while the answer runs").toBe(false);
  await until(() => isOver(session), 60_000).toBe(true);
  const whole = await answer(session);
  const expected = whole.split(/\s+/).filter((w) => w !== "");
  expect(expected.length).toBeGreaterThanOrEqual(words);
  await until(async () => (await shownRows(page, "assistant")).map((r) => plain(r.text).includes(plain(whole)))).toEqual([true]);
  expect(await page.locator("[data-stream]").count()).toBe(0);
  expect(await shownRows(page, "user")).toHaveLength(1);
}, 120_000);

function plain(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
