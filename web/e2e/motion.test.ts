// A new window of a task and the card of a plan move from the entry of the task; not for users who prefer reduced motion.

import type { Page } from "playwright-core";
import { it } from "vitest";
import { questionCard, sendMessage, until, waitUntilArmed, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

/** What has arrived with a motion, by class. */
const arrivals = (page: Page): Promise<string[]> => page.evaluate(() => (globalThis as unknown as { arrivals: string[] }).arrivals);

async function openPage(reducedMotion: "reduce" | "no-preference"): Promise<{ page: Page; session: string }> {
  const profile = await desktop.profile({}, { reducedMotion });
  await profile.addInitScript(() => {
    const seen: string[] = [];
    Object.assign(globalThis, { arrivals: seen });
    const { animate } = Element.prototype;
    Element.prototype.animate = function (...args) {
      if ((args[1] as KeyframeAnimationOptions | undefined)?.id === "arrival") seen.push(this.className.split(" ").at(-1)!);
      return animate.apply(this, args);
    };
  });
  const session = await desktop.hub.rest.newSession("motion");
  return { page: await desktop.tab({ session, profile }), session };
}

/** Makes something until it has arrived with a motion: on a busy machine a page shows it without one. */
async function makeUntilSeen(page: Page, name: string, make: (n: number) => Promise<void>, attempts: number): Promise<void> {
  for (let n = 0; n < attempts; n++) {
    await make(n);
    if ((await arrivals(page)).includes(name)) return;
  }
}

it.each([
  ["no-preference", ["drawer-plan", "win-box"], 8],
  ["reduce", [], 1],
] as const)("with motion %s", { timeout: 240_000 }, async (motion, want, attempts) => {
  const { page, session } = await openPage(motion);
  await makeUntilSeen(
    page,
    "win-box",
    async (n) => {
      const made = { windowId: `made-${n}`, title: "Made", content: { renderer: "markdown", content: "# Made" } };
      await desktop.hub.rest.sendMessage(session, `/task code Make it; /sleep 1s; /call window_create ${JSON.stringify(made)}; /sleep 500ms`);
      await windowOf(page, made.windowId).waitFor();
      const box = windowOf(page, made.windowId).locator(".win-box");
      // Together, because the motion may begin between two questions.
      await until(() => box.evaluate((e) => `${e.getAnimations().length} motions, at ${getComputedStyle(e).translate}`)).toMatch(/^0 motions, at (none|0px)/);
    },
    attempts,
  );
  await makeUntilSeen(
    page,
    "drawer-plan",
    async (n) => {
      await sendMessage(page, `/plan ${JSON.stringify({ todos: [{ id: "say", task: "Say it; /say made" }] })}`);
      const approve = questionCard(page).getByRole("button", { name: /^approve/i });
      await waitUntilArmed(approve);
      await approve.click();
      await page.locator("[data-plan-end=complete]").nth(n).waitFor();
    },
    attempts,
  );
  await until(async () => [...new Set(await arrivals(page))].sort()).toEqual([...want]);
});
