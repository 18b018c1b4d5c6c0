// Windows by mouse and by keyboard: changes in one tab reach the hub and the other tab.

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { Bounds, SessionID } from "../core/src/index.js";
import { gap } from "../desktop/src/canvas/geometry.js";
import { centre, drag, shownBounds, titleBar, until, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

interface TwoTabs {
  session: SessionID;
  page: Page;
  other: Page;
}

/** A session with windows in two tabs. */
async function openTwoTabs(...ids: string[]): Promise<TwoTabs> {
  const session = await desktop.hub.rest.newSession("windows");
  const profile = await desktop.profile();
  const page = await desktop.tab({ session, profile });
  const other = await desktop.tab({ session, profile });
  for (const [n, id] of ids.entries()) {
    await desktop.hub.rest.runActions(session, [
      {
        type: "window.create",
        windowId: id,
        title: `Window ${id}`,
        bounds: { x: 160 + 60 * n, y: 100 + 40 * n, w: 360, h: 240 },
        content: { renderer: "markdown", data: `# ${id}` },
      },
    ]);
    await Promise.all([windowOf(page, id).waitFor(), windowOf(other, id).waitFor()]);
  }
  await page.bringToFront();
  return { session, page, other };
}

/** Waits until a window has its bounds everywhere: in the tab that changed them, in the hub, and in the other tab. */
async function waitForBounds(s: TwoTabs, id: string, at: Partial<Bounds>): Promise<void> {
  await until(() => shownBounds(s.page, id)).toMatchObject(at);
  await until(async () => (await desktop.hub.rest.window(s.session, id))?.bounds).toMatchObject(at);
  await until(() => shownBounds(s.other, id)).toMatchObject(at);
}

/** The work area of the canvas. */
async function area(page: Page): Promise<{ x: number; y: number; w: number; h: number }> {
  const box = (await page.locator("main[data-region=canvas]").boundingBox())!;
  return { x: box.x, y: box.y, w: box.width, h: box.height };
}

const state = async (s: TwoTabs, id: string): Promise<string> => {
  const w = await desktop.hub.rest.window(s.session, id);
  return w === undefined ? "closed" : w.minimized === true ? "minimized" : w.maximized === true ? "maximized" : "normal";
};

describe("by mouse", () => {
  it("a window is dragged", async () => {
    const s = await openTwoTabs("a");
    await drag(s.page, await centre(titleBar(s.page, "a")), { x: 120, y: 75 });
    await waitForBounds(s, "a", { x: 280, y: 175, w: 360, h: 240 });
  });

  it("a window is resized from its edges and corners", async () => {
    const s = await openTwoTabs("a");
    const steps: [string, { x: number; y: number }, Bounds][] = [
      ["se", { x: 60, y: 40 }, { x: 160, y: 100, w: 420, h: 280 }],
      ["e", { x: -20, y: 0 }, { x: 160, y: 100, w: 400, h: 280 }],
      ["w", { x: 30, y: 0 }, { x: 190, y: 100, w: 370, h: 280 }],
      ["n", { x: 0, y: 25 }, { x: 190, y: 125, w: 370, h: 255 }],
      ["nw", { x: -40, y: -25 }, { x: 150, y: 100, w: 410, h: 280 }],
      ["s", { x: 0, y: 20 }, { x: 150, y: 100, w: 410, h: 300 }],
    ];
    for (const [edge, by, expected] of steps) {
      await drag(s.page, await centre(windowOf(s.page, "a").locator(`[data-resize="${edge}"]`)), by);
      await waitForBounds(s, "a", expected);
    }
  });

  it("a window snaps to a half and a quarter, with a preview", async () => {
    const s = await openTwoTabs("a");
    const room = await area(s.page);
    const half = { x: gap, y: gap, w: Math.round((room.w - 3 * gap) / 2), h: Math.round(room.h - 2 * gap) };
    await drag(s.page, await centre(titleBar(s.page, "a")), { x: 0, y: 0 }, false);
    await s.page.mouse.move(room.x + 3, room.y + room.h / 2, { steps: 8 });
    const preview = s.page.locator(".win-preview");
    await preview.waitFor();
    const box = (await preview.boundingBox())!;
    expect(Math.abs(box.width - half.w)).toBeLessThan(12);
    await s.page.mouse.up();
    await preview.waitFor({ state: "detached" });
    await waitForBounds(s, "a", half);

    await drag(s.page, await centre(titleBar(s.page, "a")), { x: 40, y: 40 }, false);
    await s.page.mouse.move(room.x + room.w - 3, room.y + room.h - 3, { steps: 8 });
    await preview.waitFor();
    await s.page.mouse.up();
    const w = Math.round((room.w - 3 * gap) / 2);
    const h = Math.round((room.h - 3 * gap) / 2);
    await waitForBounds(s, "a", { w, h });
    const at = await shownBounds(s.page, "a");
    expect(Math.abs(at.x + at.w - (room.w - gap))).toBeLessThan(2);
    expect(Math.abs(at.y + at.h - (room.h - gap))).toBeLessThan(2);
  });

  it("a window is maximised, restored, minimised and brought back", async () => {
    const s = await openTwoTabs("a");
    const button = (name: string) => windowOf(s.page, "a").getByRole("button", { name, exact: true });
    const room = await area(s.page);
    await button("Maximise").click();
    await until(() => state(s, "a")).toBe("maximized");
    await until(async () => (await shownBounds(s.other, "a")).w).toBeGreaterThan(room.w - 20);
    await button("Restore").click();
    await waitForBounds(s, "a", { x: 160, y: 100, w: 360, h: 240 });
    await titleBar(s.page, "a").dblclick({ position: { x: 120, y: 12 } });
    await until(() => state(s, "a")).toBe("maximized");
    await titleBar(s.page, "a").dblclick({ position: { x: 120, y: 12 } });
    await waitForBounds(s, "a", { x: 160, y: 100, w: 360, h: 240 });
    await button("Minimise").click();
    await until(() => state(s, "a")).toBe("minimized");
    await until(() => windowOf(s.other, "a").isVisible()).toBe(false);
    await s.page.locator('[data-dock-window="a"]').click();
    await until(() => state(s, "a")).toBe("normal");
    await waitForBounds(s, "a", { x: 160, y: 100, w: 360, h: 240 });
    await button("Close").click();
    await until(() => state(s, "a")).toBe("closed");
    await until(() => windowOf(s.other, "a").count()).toBe(0);
  });

  it("a press brings a window to the front in all tabs", async () => {
    const s = await openTwoTabs("a", "b");
    const front = (page: Page): Promise<string> =>
      page.evaluate(() => {
        const z = (e: Element): number => Number(getComputedStyle(e).zIndex) || 0;
        const all = [...document.querySelectorAll("section[data-window-id]")];
        return all.sort((x, y) => z(y) - z(x))[0]!.getAttribute("data-window-id")!;
      });
    await until(() => front(s.page)).toBe("b");
    await titleBar(s.page, "a").click({ position: { x: 40, y: 10 } });
    await until(() => front(s.page)).toBe("a");
    await until(() => front(s.other)).toBe("a");
    const all = (await desktop.hub.rest.snapshot(s.session)).windows!;
    expect(all.sort((x, y) => (y.z ?? 0) - (x.z ?? 0))[0]!.windowId).toBe("a");
  });
});

describe("by keyboard", () => {
  it("a window is moved, resized, snapped, maximised and minimised", async () => {
    const s = await openTwoTabs("a", "b");
    const { keyboard } = s.page;
    const focused = (): Promise<string> => s.page.evaluate(() => document.activeElement?.closest("section")?.getAttribute("data-window-id") ?? "");
    await keyboard.press("Alt+Backquote");
    await until(focused).toBe("b");
    await keyboard.press("Alt+Backquote");
    await until(focused).toBe("a");
    await titleBar(s.page, "a").focus();
    for (let n = 0; n < 3; n++) await keyboard.press("ArrowRight");
    await keyboard.press("ArrowDown");
    await waitForBounds(s, "a", { x: 208, y: 116, w: 360, h: 240 });
    await keyboard.press("Shift+ArrowRight");
    await keyboard.press("Shift+ArrowDown");
    await keyboard.press("Control+ArrowLeft");
    await waitForBounds(s, "a", { x: 207, y: 116, w: 376, h: 256 });

    const room = await area(s.page);
    const w = Math.round((room.w - 3 * gap) / 2);
    await keyboard.press("Alt+ArrowLeft");
    await waitForBounds(s, "a", { x: gap, y: gap, w, h: Math.round(room.h - 2 * gap) });
    await keyboard.press("Alt+ArrowRight");
    await waitForBounds(s, "a", { y: gap, w });
    await keyboard.press("Alt+Enter");
    await until(() => state(s, "a")).toBe("maximized");
    await keyboard.press("Alt+Enter");
    await until(() => state(s, "a")).toBe("normal");
    // The first Down restores the size of a snapped window.
    await keyboard.press("Alt+ArrowDown");
    await waitForBounds(s, "a", { w: 376, h: 256 });
    await keyboard.press("Alt+ArrowDown");
    await until(() => state(s, "a")).toBe("minimized");
  });
});
