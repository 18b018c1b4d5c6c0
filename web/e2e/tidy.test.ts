// Windows that keep themselves tidy: layouts of agents on small screens, tidy up, the overview, undo; and charts.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import type { Bounds, SessionID } from "../core/src/index.js";
import { findViolations } from "./harness/axe.js";
import { shownBounds, shownWindows, titleBar, until, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

/** A layout for a desktop of 1040×700. */
const scene: Record<string, Bounds> = {
  brief: { x: 24, y: 24, w: 416, h: 440 },
  table: { x: 456, y: 24, w: 560, h: 312 },
  chart: { x: 456, y: 352, w: 560, h: 308 },
  today: { x: 24, y: 480, w: 416, h: 180 },
};

const bars = { kind: "bar", labels: ["Mon", "Tue", "Wed"], series: [{ name: "Tea", values: [3, 5, 4] }, { name: "Coffee", values: [7, 2, 6] }], unit: "cups", description: "Cups per day." };

async function openScene(width: number, height: number): Promise<{ session: SessionID; page: Page }> {
  const session = await desktop.hub.rest.newSession("tidy");
  const page = await desktop.tab({ session, context: { viewport: { width, height } } });
  const actions = Object.entries(scene).map(([windowId, bounds]) => ({
    type: "window.create",
    windowId,
    title: windowId,
    bounds,
    content: windowId === "chart" ? { renderer: "chart", data: bars } : { renderer: "markdown", data: `# ${windowId}` },
  }));
  await desktop.hub.rest.runActions(session, actions as never);
  for (const id of Object.keys(scene)) await windowOf(page, id).waitFor();
  return { session, page };
}

async function overlaps(page: Page): Promise<string[]> {
  const ids = await shownWindows(page);
  const bounds = await Promise.all(ids.map(async (id) => ({ id, ...(await shownBounds(page, id)) })));
  const found: string[] = [];
  for (const [i, a] of bounds.entries())
    for (const b of bounds.slice(i + 1)) if (a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h) found.push(`${a.id} and ${b.id}`);
  return found;
}

it("a layout for a larger screen does not overlap at 1024×700; tidy up, undo, close all and reopen work by keyboard", { timeout: 120_000 }, async () => {
  const { session, page } = await openScene(1024, 700);
  await until(() => overlaps(page)).toEqual([]);
  const first = await shownBounds(page, "table");
  await titleBar(page, "table").focus();
  for (let i = 0; i < 12; i++) await page.keyboard.press("ArrowLeft");
  await until(async () => (await overlaps(page)).length).toBeGreaterThan(0);
  await until(async () => (await desktop.hub.rest.window(session, "table"))?.placed).toBe(true);

  await page.keyboard.press("Alt+KeyT");
  await until(() => overlaps(page)).toEqual([]);
  await page.keyboard.press("Control+KeyZ");
  await until(async () => (await overlaps(page)).length).toBeGreaterThan(0);
  await page.keyboard.press("Control+KeyZ");
  await until(() => shownBounds(page, "table")).toMatchObject({ x: first.x, y: first.y });

  await windowOf(page, "today").getByRole("button", { name: "Close", exact: true }).click();
  await windowOf(page, "today").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await windowOf(page, "today").waitFor();

  await page.locator("main[data-region=canvas] .win-canvas").click({ button: "right", position: { x: 4, y: 4 } });
  await page.getByRole("menuitem", { name: "Close all windows" }).click();
  await until(() => shownWindows(page)).toEqual([]);
  await page.keyboard.press("Alt+Shift+KeyT");
  await until(async () => (await shownWindows(page)).length).toBe(1);
  await page.keyboard.press("Control+KeyZ");
  await until(() => shownWindows(page)).toEqual(["brief", "chart", "table", "today"]);
});

it("at 3840×2160 a layout is larger, in the middle, and stays when a person moves one of its windows", { timeout: 120_000 }, async () => {
  const { session, page } = await openScene(3840, 2160);
  const canvas = await page.locator(".win-canvas").evaluate((el) => ({ w: el.clientWidth, h: el.clientHeight }));
  await until(async () => (await shownBounds(page, "brief")).w).toBe(Math.round(scene.brief!.w * 1.6));
  expect(await overlaps(page)).toEqual([]);
  const all = await Promise.all(Object.keys(scene).map((id) => shownBounds(page, id)));
  const [left, right] = [Math.min(...all.map((b) => b.x)), Math.max(...all.map((b) => b.x + b.w))];
  const [top, bottom] = [Math.min(...all.map((b) => b.y)), Math.max(...all.map((b) => b.y + b.h))];
  expect(Math.abs(left - (canvas.w - right)), `left ${left}, right ${right} of ${canvas.w}`).toBeLessThanOrEqual(4);
  expect(Math.abs(top - (canvas.h - bottom)), `top ${top}, bottom ${bottom} of ${canvas.h}`).toBeLessThanOrEqual(4);

  const others = ["table", "chart", "today"];
  const before = await Promise.all(others.map((id) => shownBounds(page, id)));
  await titleBar(page, "brief").focus();
  await page.keyboard.press("ArrowLeft");
  await until(async () => (await desktop.hub.rest.window(session, "brief"))?.placed).toBe(true);
  expect(await Promise.all(others.map((id) => shownBounds(page, id)))).toEqual(before);
  expect((await shownBounds(page, "brief")).w).toBe(Math.round(scene.brief!.w * 1.6));
});

it("the overview shows all windows and is used with the keyboard alone", { timeout: 60_000 }, async () => {
  const { page } = await openScene(1280, 720);
  await titleBar(page, "brief").focus();
  await page.keyboard.press("Alt+KeyW");
  const overview = page.getByRole("dialog", { name: "Overview of all windows" });
  await overview.waitFor();
  await until(() => overview.getByRole("button").count()).toBe(4);
  expect(await findViolations(page)).toEqual([]);
  await until(() => page.evaluate(() => document.activeElement?.getAttribute("data-overview"))).toBe("monitor-0/brief");
  await page.keyboard.press("ArrowRight");
  const chosen = await page.evaluate(() => document.activeElement?.getAttribute("data-overview") ?? "");
  expect(chosen).not.toBe("monitor-0/brief");
  await page.keyboard.press("Enter");
  await overview.waitFor({ state: "detached" });
  await until(() => page.evaluate(() => document.activeElement?.closest("section")?.getAttribute("data-window-id"))).toBe(chosen.split("/")[1]);
});

it("a chart is drawn from its data, read with the arrow keys and as a table, and saved", { timeout: 60_000 }, async () => {
  const { page } = await openScene(1440, 900);
  const chart = windowOf(page, "chart");
  await until(() => chart.locator("rect.chart-bar").count()).toBe(6);
  expect(await findViolations(page)).toEqual([]);
  await chart.getByRole("group", { name: /Bar chart: chart/ }).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await until(() => chart.getByRole("status").innerText()).toMatch(/Tue\s+Tea\s+5 cups\s+Coffee\s+2 cups/);
  await chart.getByRole("button", { name: "Show the numbers" }).click();
  await until(async () => (await chart.getByRole("row").allInnerTexts()).slice(1)).toEqual(["Mon\t3\t7", "Tue\t5\t2", "Wed\t4\t6"]);
  await chart.getByRole("button", { name: "Show the chart" }).click();
  for (const [item, file] of [["Save as CSV", "chart.csv"], ["Save as PNG", "chart.png"]] as const) {
    await titleBar(page, "chart").click({ button: "right" });
    const saved = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: item }).click();
    expect((await saved).suggestedFilename()).toBe(file);
  }
});

it("a note is written by hand, and its earlier version is shown again", { timeout: 60_000 }, async () => {
  const page = await desktop.tab({ session: await desktop.hub.rest.newSession("note") });
  await page.keyboard.press("Control+KeyK");
  await page.getByRole("combobox").fill("new note");
  await page.keyboard.press("Enter");
  const note = windowOf(page, "my-note-1");
  await note.getByRole("textbox").fill("# Milk");
  await page.keyboard.press("Control+Enter");
  await note.getByRole("heading", { name: "Milk" }).waitFor();
  await titleBar(page, "my-note-1").click({ button: "right" });
  await page.getByRole("menuitem", { name: "Earlier versions…" }).click();
  const versions = page.getByRole("dialog", { name: "Versions of Note" });
  await versions.getByRole("button", { name: "Now" }).waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press("Escape");

  await titleBar(page, "my-note-1").click({ button: "right" });
  await page.getByRole("menuitem", { name: "Edit", exact: true }).click();
  await note.getByRole("textbox").fill("# Bread");
  await page.keyboard.press("Control+Enter");
  await note.getByRole("heading", { name: "Bread" }).waitFor();
  await titleBar(page, "my-note-1").click({ button: "right" });
  await page.getByRole("menuitem", { name: "Earlier versions…" }).click();
  await versions.getByRole("heading", { name: "Bread" }).waitFor();
  await versions.getByRole("listitem").nth(1).getByRole("button").click();
  await versions.getByRole("heading", { name: "Milk" }).waitFor();
  await versions.getByRole("button", { name: "Show this version again" }).click();
  await versions.waitFor({ state: "detached" });
  await note.getByRole("heading", { name: "Milk" }).waitFor();
});

it("windows side by side are a group: a border, the overview, minimising and undo concern all of them, also after a reload", { timeout: 120_000 }, async () => {
  const { session, page } = await openScene(1280, 720);
  await page.waitForLoadState("networkidle"); // panels that arrive later change the size of the canvas
  await titleBar(page, "brief").focus();
  const loose = (await shownBounds(page, "brief")).w;
  await page.keyboard.press("Alt+ArrowLeft");
  await until(async () => (await shownBounds(page, "brief")).w).not.toBe(loose);
  await titleBar(page, "table").focus();
  await page.keyboard.press("Alt+ArrowRight");
  const both = async () => ({ left: await shownBounds(page, "brief"), right: await shownBounds(page, "table") });
  await until(async () => (await both()).right.x - (await both()).left.w).toBe(16);
  await until(async () => (await desktop.hub.rest.window(session, "table"))?.bounds.x).toBe((await both()).right.x);
  await page.reload();
  await titleBar(page, "table").waitFor();
  await page.waitForLoadState("networkidle");
  const before = await both();

  // The border is dragged, then moved with keys; each is one step to undo.
  const y = await page.locator(".win-canvas").evaluate((el) => el.getBoundingClientRect().y + el.clientHeight / 2);
  await page.mouse.move(before.right.x + 1, y);
  await page.mouse.down();
  await page.mouse.move(before.right.x + 61, y, { steps: 4 });
  await page.mouse.up();
  await until(both).toEqual({ left: { ...before.left, w: before.left.w + 60 }, right: { ...before.right, x: before.right.x + 60, w: before.right.w - 60 } });
  await titleBar(page, "brief").focus();
  await page.keyboard.press("Shift+ArrowLeft");
  await until(async () => (await both()).right.x).toBe(before.right.x + 44);
  await page.keyboard.press("Control+KeyZ");
  await until(async () => (await both()).right.x).toBe(before.right.x + 60);
  await page.keyboard.press("Control+KeyZ");
  await until(both).toEqual(before);

  // Other windows are above it until the overview brings the whole group to the front.
  await titleBar(page, "chart").focus();
  await page.keyboard.press("Alt+KeyW");
  const overview = page.getByRole("dialog", { name: "Overview of all windows" });
  await overview.getByText("table + brief").or(overview.getByText("brief + table")).waitFor();
  expect(await findViolations(page)).toEqual([]);
  await overview.getByRole("button", { name: "Show brief with its group" }).press("Enter");
  const order = async (): Promise<string[]> => {
    const windows = await Promise.all(Object.keys(scene).map(async (id) => ({ id, z: (await desktop.hub.rest.window(session, id))?.z ?? 0 })));
    return windows.sort((a, b) => b.z - a.z).map((w) => w.id);
  };
  await until(async () => (await order()).slice(0, 2)).toEqual(["brief", "table"]);

  await titleBar(page, "brief").focus();
  await page.keyboard.press("Shift+F10");
  await page.getByRole("menuitem", { name: "Minimise the group" }).press("Enter");
  const visible = (): Promise<string[]> => page.locator("section[data-window-id]:not([data-hidden])").evaluateAll((all) => all.map((w) => w.getAttribute("data-window-id")!).sort());
  await until(visible).toEqual(["chart", "today"]);
  const entry = page.getByRole("group", { name: "Minimised windows" }).getByRole("button");
  await until(() => entry.count()).toBe(1);
  await entry.press("Enter");
  await until(visible).toEqual(["brief", "chart", "table", "today"]);
  expect(await both()).toEqual(before);
});
