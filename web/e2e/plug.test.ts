// The step of the tour that kills the hub in the middle of an answer. The hub runs under its supervisor.

import { expect, it } from "vitest";
import { plugRequest } from "../desktop/src/tour/plug.js";
import { recordLinkStates, shownRows, until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture({ supervised: true });

it("the tour pulls the plug: the hub dies while it answers, comes back, and the tab has every word", async () => {
  desktop.guard.expectLostHub();
  const session = await desktop.hub.rest.newSession();
  const page = await desktop.tab({ session, prefs: { toured: false } });
  await page.locator("[data-step=form] button").click();
  await page.locator("[data-done~=form]").waitFor();
  const unfold = page.getByRole("button", { name: "Unfold the tour" });
  if (await unfold.isVisible()) await unfold.click();
  const step = page.locator("[data-step=plug]");
  expect(await page.locator("[data-step=restart]").count(), "steps for a hub that does not come back").toBe(0);
  const owner = async (): Promise<unknown> => (await desktop.hub.rest.events(session)).findLast((e) => e.type === "OWNER_CHANGED")?.data;
  const before = await owner();

  const states = await recordLinkStates(page);
  await step.getByRole("button").click();
  await page.locator("[data-done~=plug]").waitFor();
  await step.getByText(/^0 words lost\./).waitFor();
  await page.locator("[data-notice]").getByText(/^0 words lost\./).waitFor();
  const link = (await states()).map((s) => s.state);
  expect(link.length, `the states of the connection: ${link.join(", ")}`).toBeGreaterThan(2); // lost in between
  expect(link.at(-1)).toBe("live");
  expect(await owner(), "the owner of the session before and after").not.toEqual(before);

  // The words are counted by the page; here they are counted in what it shows, and in what the hub stores.
  const shown = (await shownRows(page)).map((r) => r.text).join("\n");
  const stored = (await desktop.hub.rest.events(session)).flatMap((e) => (e.type === "messageUpdated" && e.data.message.say === "text" && e.data.message.agentId ? [e.data.message.text ?? ""] : []));
  const answer = stored.slice(stored.findIndex((t) => /^I answer with \d+ words/.test(t))).join("\n");
  const announced = Number(/\d+/.exec(answer)?.[0]);
  expect(answer.slice(answer.indexOf("\n")).trim().split(/\s+/)).toHaveLength(announced);
  expect(announced).toBeGreaterThan(50);
  for (const sentence of [plugRequest.en, `I answer with ${announced} words`, "If you can read this sentence, all of it has worked."]) expect(shown).toContain(sentence);
  await until(() => step.getAttribute("data-mark")).toBe("done");
});
