// What windows show and how the page loads: charts, code, tables, fonts, places, the number of scripts.

import { expect, it } from "vitest";
import type { Content } from "../core/src/index.js";
import { showWindow } from "./harness/content.js";
import { shownBounds, shownWindows, until, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

it("charts of every kind are drawn, code is coloured, and a table is filtered", async () => {
  const session = await desktop.hub.rest.newSession("content");
  const page = await desktop.tab({ session });
  const labels = ["Mon", "Tue", "Wed"];
  const series = [{ name: "Tea", values: [3, 5, 4] }];
  const charts: [id: string, data: object, drawn: string][] = [
    ["line", { kind: "line", labels, series }, ".chart-line"],
    ["area", { kind: "area", labels, series }, ".chart-area"],
    ["pie", { kind: "pie", labels, series }, ".chart-slice"],
    ["scatter", { kind: "scatter", series: [{ name: "Tea", points: [[1, 2], [2, 5], [3, 3]] }] }, ".chart-point"],
  ];
  for (const [id, data, drawn] of charts) {
    await showWindow(desktop.hub, session, page, id, { renderer: "chart", data } as Content);
    const shape = windowOf(page, id).locator(drawn).first();
    await shape.waitFor({ state: "attached" });
    const box = await shape.evaluate((e) => (e as SVGGraphicsElement).getBBox().width);
    expect(box, `width of the drawing of ${id}`).toBeGreaterThan(0);
  }

  await showWindow(desktop.hub, session, page, "code", { renderer: "markdown", data: "```js\nconst answer = 42; // why\n```" });
  const code = windowOf(page, "code").locator(".md-code");
  const colours = (): Promise<number> => code.locator("code span").evaluateAll((all) => new Set(all.map((e) => getComputedStyle(e).color)).size);
  await until(colours).toBeGreaterThanOrEqual(3);

  const rows = Array.from({ length: 40 }, (_, n) => [`Tea ${n}`, String(n)]);
  await showWindow(desktop.hub, session, page, "table", { renderer: "table", data: { headers: ["Item", "Price"], rows } });
  const table = windowOf(page, "table");
  await table.locator(".content-filter").fill("Tea 39");
  await until(() => table.locator("tbody tr").count()).toBe(1);
});

it("the bundled fonts are used", async () => {
  const session = await desktop.hub.rest.newSession("fonts");
  const page = await desktop.tab({ session });
  await showWindow(desktop.hub, session, page, "text", { renderer: "markdown", data: "Some `code` 한글" });
  await windowOf(page, "text").locator("code").waitFor();
  await page.evaluate(() => document.fonts.ready);
  const loaded = (): Promise<string[]> => page.evaluate(() => [...new Set([...document.fonts].filter((f) => f.status === "loaded").map((f) => f.family.replaceAll('"', "")))].sort());
  await until(loaded).toEqual(expect.arrayContaining([expect.stringMatching(/Inter/), expect.stringMatching(/Mono/), expect.stringMatching(/Pretendard/)]));
});

it("three windows without a place do not overlap", async () => {
  const session = await desktop.hub.rest.newSession("places");
  const page = await desktop.tab({ session, context: { viewport: { width: 1440, height: 900 } } });
  for (const id of ["one", "two", "three"]) {
    await desktop.hub.rest.sendMessage(session, `/window ${id} ${id} | # ${id}`);
    await windowOf(page, id).waitFor();
  }
  const overlaps = async (): Promise<string[]> => {
    const all = await Promise.all((await shownWindows(page)).map(async (id) => ({ id, ...(await shownBounds(page, id)) })));
    return all.flatMap((a, i) => all.slice(i + 1).flatMap((b) => (a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h ? [`${a.id} and ${b.id}`] : [])));
  };
  await until(overlaps).toEqual([]);
});

it("a first visit fetches at most fifteen scripts", async () => {
  const page = await desktop.tab({ session: await desktop.hub.rest.newSession("scripts"), prefs: { toured: false } });
  await page.locator("[data-step]").first().waitFor();
  await page.waitForLoadState("networkidle");
  const scripts = desktop.guard.requests.filter((url) => new URL(url).pathname.endsWith(".js"));
  expect(scripts.length, scripts.join("\n")).toBeLessThanOrEqual(15);
});
