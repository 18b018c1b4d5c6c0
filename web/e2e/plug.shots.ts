// The moving picture of the documentation: a real run of the step of the tour that kills the hub in the middle of an answer.

import { writeFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { agentSteps } from "../desktop/src/tour/steps.js";
import { animate, type Frame } from "./harness/apng.js";
import { until, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

/** The least time between two frames in ms: more frames make the file larger, not the picture clearer. */
const frameInterval = 1500;

const desktop = desktopFixture({ supervised: true });

it("plug", async () => {
  desktop.guard.expectLostHub();
  const session = await desktop.hub.rest.newSession("Pull the plug");
  // The tour has reached this step, and is folded beside the windows.
  await desktop.hub.rest.request("PATCH", "/api/settings/values", { values: { tourSteps: agentSteps } });
  const page = await desktop.tab({ session, prefs: { toured: false, theme: "dark" }, context: { viewport: { width: 1024, height: 700 }, deviceScaleFactor: 2, colorScheme: "dark" } });
  await desktop.hub.rest.runActions(session, [
    { type: "window.create", windowId: "brief", title: "Project brief", bounds: { x: 24, y: 24, w: 300, h: 400 }, content: { renderer: "markdown", data: "# Aurora\n\n*A weather station for balconies that needs no cloud*\n\n## Goals\n\n- **Plain:** works without an account\n- **Private:** the data stays at home\n- **Open:** every value can be exported" } },
    { type: "window.create", windowId: "visitors", title: "Visitors", bounds: { x: 340, y: 24, w: 350, h: 400 }, content: { renderer: "chart", data: { kind: "bar", labels: ["Mon", "Tue", "Wed", "Thu", "Fri"], series: [{ name: "Visitors", values: [42, 64, 50, 86, 72] }] } } },
  ]);
  await windowOf(page, "visitors").waitFor();
  await page.locator("[data-step=plug] button").waitFor();
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
