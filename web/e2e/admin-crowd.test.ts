// Ten thousand sessions in the admin table: the rows in the document, and searching.

import { afterAll, expect, it } from "vitest";
import { Crowd } from "./harness/crowd.js";
import { until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { crowdedPage, measureScrolling } from "./harness/scroll.js";

const desktop = desktopFixture();
const crowd = await Crowd.start(10_000);
afterAll(() => crowd.close());

it("only visible rows are in the document", async () => {
  const { rows, blank } = await measureScrolling(await crowdedPage(desktop, crowd), 40);
  expect(rows).toBeLessThanOrEqual(60);
  expect(blank).toBe(0);
});

it("the last of ten thousand sessions is reached by key, found by text, and opened", async () => {
  const page = await crowdedPage(desktop, crowd);
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
  await until(() => grid.evaluate((g) => document.getElementById(g.getAttribute("aria-activedescendant") ?? "")?.innerText)).toBe(`user-${9998 % 97}`);
  await page.keyboard.press("Home");
  await page.locator("[data-session=ses-000000]").waitFor();
  await page.locator("input[name=text]").fill("ses-0042");
  await until(() => page.locator(".sessions-count").getAttribute("data-shown")).toBe("100");
  await grid.focus();
  await page.keyboard.press("Enter");
  await until(() => page.url()).toMatch(/\/admin\/sessions\/ses-004200$/);
});
