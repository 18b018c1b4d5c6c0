// The hub's store becomes unavailable and available again, while the hub runs.

import type { Page } from "playwright-core";
import { afterEach, expect, it } from "vitest";
import { recordLinkStates, sendMessage, shownRows, until, waitForLink, waitForRow } from "./harness/desktop-page.js";
import { desktopFixture, ready } from "./harness/fixture.js";

const desktop = desktopFixture({ redis: true });

const redis = () => desktop.hub.redis!;

// A failing test must not leave a suspended store to the next one.
afterEach(() => redis().thaw());

/** The ways in which a store becomes unavailable, and how each is undone. */
const ways = [
  {
    what: "hangs",
    language: "en",
    away: async () => redis().freeze(),
    back: async () => redis().thaw(),
    words: [/The hub cannot reach its store/, /What was accepted is safe\. New messages wait\./],
    waiting: /Waits until the hub reaches its store again/,
    again: /The store of the hub is available again/,
  },
  {
    what: "is killed and starts again",
    language: "ko",
    away: () => redis().kill(),
    back: () => redis().up(),
    words: [/저장소에 연결하지 못하고 있어요/, /접수된 것은 안전해요\. 새 메시지는 기다리고 있어요\./],
    waiting: /저장소에 다시 연결될 때까지 기다려요/,
    again: /저장소를 다시 쓸 수 있어요/,
  },
  {
    what: "is full",
    language: "en",
    away: () => redis().setFull(true),
    back: () => redis().setFull(false),
    words: [/The store of the hub is full/, /What was accepted is safe\. New messages wait for space\./],
    waiting: /Waits until the store of the hub has space again/,
    again: /The store of the hub is available again/,
  },
] as const;

/** Counts the connections that a page has opened. */
function countSockets(page: Page): () => number {
  let n = 0;
  page.on("websocket", () => n++);
  return () => n;
}

it.each(ways)("a store that $what: the page says so, and messages sent meanwhile arrive once", async (way) => {
  const session = await desktop.hub.rest.newSession("without a store");
  const page = await desktop.tab({ session, prefs: { language: way.language } });
  const sockets = countSockets(page);
  await page.reload();
  await ready(page);
  await sendMessage(page, "/say before");
  await waitForRow(page, "before");

  const states = await recordLinkStates(page);
  await way.away();
  await sendMessage(page, "/say from the dark");
  await waitForLink(page, "storeless");
  const chip = page.locator("[data-link=storeless]");
  for (const words of way.words) expect(await chip.innerText()).toMatch(words);
  expect(await chip.getAttribute("role")).toBe("status");
  const waiting = page.locator("[data-message-id][data-message-status=sending]");
  await waiting.filter({ hasText: "from the dark" }).filter({ hasText: way.waiting }).waitFor();

  const again = page.locator("[data-link=live]").filter({ hasText: way.again }).waitFor(); // it is shown for a moment only
  await way.back();
  await again;
  await waitForRow(page, "from the dark");
  await until(() => waiting.count()).toBe(0);
  expect((await shownRows(page, "user")).filter((r) => r.text.includes("from the dark"))).toHaveLength(1);
  const said = (await desktop.hub.rest.rows(session)).filter((r) => r.say === "user_feedback" && r.text?.includes("from the dark"));
  expect(said).toHaveLength(1);
  // A hub on a busy machine may find the store slow once more.
  expect(new Set((await states()).map((s) => s.state)), "no connection was lost").toEqual(new Set(["live", "storeless"]));
  expect(sockets()).toBe(1);
});

it("an agent that works while the store is unavailable is not shown as stopped, and its answer is complete", async () => {
  const session = await desktop.hub.rest.newSession("at work");
  const page = await desktop.tab({ session });
  await sendMessage(page, "/stream 200 20");
  await page.locator("[data-stream]").first().waitFor();
  const states = await recordLinkStates(page);
  redis().freeze();
  await waitForLink(page, "storeless");
  const pill = page.locator(".dock-pill").first();
  await pill.locator(".dock-alive").waitFor();
  expect(await pill.getAttribute("class")).not.toMatch(/quiet|stale/);
  redis().thaw();
  await page.locator("[data-link=live]").filter({ hasText: /is available again/ }).waitFor();
  await waitForRow(page, /w1 w2 .* w200\b/s);
  await until(() => page.locator("[data-stream]").count()).toBe(0);
  expect(await shownRows(page, "assistant")).toHaveLength(1);
  expect(await shownRows(page, "error")).toEqual([]);
  // A hub on a busy machine may find the store slow once more.
  expect(new Set((await states()).map((s) => s.state)), "no connection was lost").toEqual(new Set(["live", "storeless"]));
});
