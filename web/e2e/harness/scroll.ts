// Opens the admin page with very many sessions, and measures scrolling.

import type { Page } from "playwright-core";
import { waitForTable } from "./admin.js";
import type { Crowd } from "./crowd.js";
import { type DesktopFixture, devtools } from "./fixture.js";

/** Opens the page with the sessions of a crowd. */
export async function crowdedPage(desktop: DesktopFixture, crowd: Crowd): Promise<Page> {
  const profile = await desktop.profile({}, { viewport: { width: 1440, height: 900 } });
  await desktop.signIn(profile);
  const page = await profile.newPage();
  await page.route("**/api/admin/live?**", (route) => route.continue({ url: crowd.url }));
  await page.goto(`${desktop.hub.url}/admin`);
  await waitForTable(page, crowd.sessions);
  return page;
}

export interface ScrollResult {
  /** The largest number of rows in the document. */
  rows: number;
  /** The number of steps after which no row became visible. */
  blank: number;
  /** The CPU time of the page per step, in ms. */
  work: number;
}

/** Scrolls by about a screen in every step, while rows change. */
export async function measureScrolling(page: Page, steps = 100): Promise<ScrollResult> {
  const cdp = await devtools(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const worked = async (): Promise<number> => {
    const { metrics } = await cdp.send("Performance.getMetrics");
    return metrics.filter((m) => ["ScriptDuration", "LayoutDuration", "RecalcStyleDuration"].includes(m.name)).reduce((sum, m) => sum + m.value, 0);
  };
  const before = await worked();
  const seen = await page.evaluate(async (times) => {
    const grid = document.querySelector<HTMLElement>("[role=grid]")!;
    const frame = (): Promise<number> => new Promise(requestAnimationFrame);
    const showsRow = (): boolean => {
      const box = grid.getBoundingClientRect();
      const middle = box.top + box.height / 2;
      return [...grid.querySelectorAll(".grid-line")].some((l) => l.getBoundingClientRect().top <= middle && l.getBoundingClientRect().bottom >= middle);
    };
    let [rows, blank] = [0, 0];
    for (let n = 0; n < times; n++) {
      // Up and down, so that a short table is scrolled as often.
      const end = grid.scrollHeight - grid.clientHeight;
      grid.scrollTop = n % 2 === 0 ? Math.min(end, grid.scrollTop + 900) : Math.max(0, grid.scrollTop - 400);
      await frame();
      await frame();
      // A busy machine delivers the scroll event some frames later.
      let frames = 0;
      while (!showsRow() && frames < 300) {
        await frame();
        frames++;
      }
      rows = Math.max(rows, grid.querySelectorAll(".grid-line").length);
      if (!showsRow()) blank++;
    }
    return { rows, blank };
  }, steps);
  return { ...seen, work: ((await worked()) - before) * 1000 / steps };
}
