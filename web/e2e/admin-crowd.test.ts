// Ten thousand sessions in the monitor's table: what is in the document, and what scrolling costs.

import type { Page } from "playwright-core";
import { afterEach, expect, it } from "vitest";
import { tableOf } from "./harness/admin.js";
import { Crowd } from "./harness/crowd.js";
import { stage, tools } from "./harness/stage.js";
import { until } from "./harness/verbs.js";

const desk = stage();
const crowds: Crowd[] = [];

afterEach(() => {
  for (const crowd of crowds.splice(0)) crowd.close();
});

/** The page with so many sessions. */
async function crowded(sessions: number): Promise<Page> {
  const crowd = await Crowd.of(sessions, Math.min(100, sessions));
  crowds.push(crowd);
  const profile = await desk.profile({}, { viewport: { width: 1440, height: 900 } });
  const page = await profile.newPage();
  await page.goto(desk.hub.entry);
  await page.route("**/api/admin/live?**", (route) => route.continue({ url: crowd.url }));
  await page.goto(`${desk.hub.url}/admin`);
  await tableOf(page, sessions, 60_000);
  return page;
}

interface Scrolled {
  /** The most rows that were in the document. */
  rows: number;
  /** Steps after which there was nothing where rows should be. */
  blank: number;
  /** What the page worked in a step, in ms of its own time, not of the clock's. */
  work: number;
}

const steps = 100;

/** Scrolls by a screen in every step, while rows change. */
async function scroll(page: Page): Promise<Scrolled> {
  const cdp = await tools(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const worked = async (): Promise<number> => {
    const { metrics } = await cdp.send("Performance.getMetrics");
    return metrics.filter((m) => ["ScriptDuration", "LayoutDuration", "RecalcStyleDuration"].includes(m.name)).reduce((sum, m) => sum + m.value, 0);
  };
  const before = await worked();
  const seen = await page.evaluate(async (times) => {
    const grid = document.querySelector<HTMLElement>("[role=grid]")!;
    const frame = (): Promise<number> => new Promise(requestAnimationFrame);
    let [rows, blank] = [0, 0];
    for (let n = 0; n < times; n++) {
      // To the end and back, so that a short table is scrolled as often.
      const end = grid.scrollHeight - grid.clientHeight;
      grid.scrollTop = n % 2 === 0 ? Math.min(end, grid.scrollTop + 900) : Math.max(0, grid.scrollTop - 400);
      await frame();
      await frame();
      const lines = [...grid.querySelectorAll(".grid-line")];
      rows = Math.max(rows, lines.length);
      const box = grid.getBoundingClientRect();
      const middle = box.top + box.height / 2;
      if (!lines.some((l) => l.getBoundingClientRect().top <= middle && l.getBoundingClientRect().bottom >= middle)) blank++;
    }
    return { rows, blank };
  }, steps);
  return { ...seen, work: ((await worked()) - before) * 1000 / steps };
}

it("only what can be seen is in the document, and scrolling costs what it costs with few", async () => {
  const many = await scroll(await crowded(10_000));
  const few = await scroll(await crowded(200));
  console.log(`10,000 sessions: ${many.rows} rows in the document, ${many.work.toFixed(1)} ms a step; 200: ${few.rows} rows, ${few.work.toFixed(1)} ms`);
  expect(many.rows).toBeLessThanOrEqual(60);
  expect(many.blank).toBe(0);
  expect(many.work, "what 200 sessions cost").toBeLessThan(3 * few.work + 5);
}, 180_000);

it("the last of ten thousand is reached by key, found by text, and opened", async () => {
  const page = await crowded(10_000);
  await page.locator("[data-sort=id]").click();
  const grid = page.locator("[role=grid]");
  await grid.focus();
  await page.keyboard.press("End");
  await page.locator("[data-session=ses-009999]").waitFor();
  expect(await grid.getAttribute("aria-rowcount")).toBe("10001");
  const chosen = await grid.getAttribute("aria-activedescendant");
  expect(await page.locator(`[id="${chosen}"]`).innerText()).toBe("ses-009999");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowRight");
  await until(async () => page.locator(`[id="${await grid.getAttribute("aria-activedescendant")}"]`).innerText()).toBe(`user-${9998 % 97}`);
  await page.keyboard.press("Home");
  await page.locator("[data-session=ses-000000]").waitFor();
  await page.locator("input[name=text]").fill("ses-0042");
  await until(() => page.locator(".sessions-count").getAttribute("data-shown")).toBe("100");
  await grid.focus();
  await page.keyboard.press("Enter");
  await until(() => page.url()).toMatch(/\/admin\/sessions\/ses-004200$/);
}, 120_000);
