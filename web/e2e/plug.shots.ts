// The moving picture of the documentation: a real run of the step of the tour that kills the hub in the middle of an answer.

import { writeFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { animate, type Frame } from "./harness/apng.js";
import { until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

/** The least time between two frames in ms: more frames make the file larger, not the picture clearer. */
const frameInterval = 1500;

const desktop = desktopFixture({ supervised: true });

it("plug", async () => {
  desktop.guard.expectLostHub();
  const session = await desktop.hub.rest.newSession("Pull the plug");
  const page = await desktop.tab({ session, prefs: { toured: false, theme: "dark" }, context: { viewport: { width: 1024, height: 700 }, deviceScaleFactor: 2, colorScheme: "dark" } });
  await page.locator("[data-step=windows] button").click();
  await page.locator("[data-done~=windows]").waitFor();
  const unfold = page.getByRole("button", { name: "Unfold the tour" });
  if (await unfold.isVisible()) await unfold.click();
  await until(() => page.locator("[data-notice], [data-toast-id]").count()).toBe(0);

  await page.mouse.move(0, 0);

  const shots: { png: Buffer; at: number }[] = [];
  const record = async (): Promise<void> => void shots.push({ png: await page.screenshot({ caret: "hide" }), at: performance.now() });
  await record();
  await page.locator("[data-step=plug] button").click();
  await page.mouse.move(0, 0);
  const done = page.locator("[data-done~=plug]");
  while ((await done.count()) === 0) {
    await record();
    await setTimeout(frameInterval);
  }
  await page.locator("[data-step=plug]").getByText(/^0 words lost\./).waitFor();
  await record();

  const frames: Frame[] = shots.map(({ png, at }, n) => ({ png, ms: n === 0 ? 1500 : (shots[n + 1]?.at ?? at + 5000) - at }));
  const picture = animate(frames);
  expect(picture.length).toBeLessThan(3_000_000);
  await writeFile(fileURLToPath(new URL("../../docs/img/plug.png", import.meta.url)), picture);
});
