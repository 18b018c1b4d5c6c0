// Details of the look that are easily lost: nothing overlaps, is cut or begins in its middle.

import type { Locator } from "playwright-core";
import { expect, it } from "vitest";
import { showWindow } from "./harness/content.js";
import { commandBar, until, windowOf } from "./harness/desktop-page.js";
import { desktopFixture, devtools } from "./harness/fixture.js";

const desktop = desktopFixture();

const small = { x: 20, y: 20, w: 320, h: 260 };

it("a window with a diagram begins at its beginning when the diagram is drawn", async () => {
  const session = await desktop.hub.rest.newSession("diagram");
  const page = await desktop.tab({ session });
  const steps = Array.from({ length: 12 }, (_, n) => `  s${n}[Step ${n}] --> s${n + 1}[Step ${n + 1}]`).join("\n");
  const data = `\`\`\`mermaid\nflowchart TD\n${steps}\n\`\`\`\n\nThe end.`;
  await desktop.hub.rest.runActions(session, [{ type: "window.create", windowId: "flow", title: "Flow", bounds: { ...small, h: 600 }, content: { renderer: "markdown", data } }]);
  const scroller = windowOf(page, "flow").locator(".content-scroll");
  await windowOf(page, "flow").frameLocator(".md-diagram iframe").locator(".node").first().waitFor();
  await until(() => scroller.evaluate((e) => e.scrollHeight > e.clientHeight + 100)).toBe(true);
  expect(await scroller.evaluate((e) => e.scrollTop), "position of the text").toBe(0);
});

it("a page that supports dark and light colours has those of the desktop, not of the system", async () => {
  const session = await desktop.hub.rest.newSession("theme");
  const html = "<style>:root{color-scheme:light dark}html{background:light-dark(rgb(255,255,255),rgb(10,10,10))}</style><p>Page</p>";
  const plain = "<style>html{background:light-dark(rgb(255,255,255),rgb(10,10,10))}</style><p>Plain</p>";
  for (const theme of ["dark", "light"] as const) {
    const page = await desktop.tab({ session, prefs: { theme }, context: { colorScheme: theme === "dark" ? "light" : "dark" } });
    await desktop.hub.rest.runActions(session, [
      { type: "window.create", windowId: "page", title: "Page", bounds: small, content: { renderer: "html", data: html } },
      { type: "window.create", windowId: "plain", title: "Plain", bounds: { ...small, x: 400 }, content: { renderer: "html", data: plain } },
    ]);
    const colour = (id: string): Promise<string> => windowOf(page, id).frameLocator("iframe").locator("html").evaluate((e) => getComputedStyle(e).backgroundColor);
    await windowOf(page, "page").frameLocator("iframe").getByText("Page").waitFor();
    await until(() => colour("page")).toBe(theme === "dark" ? "rgb(10, 10, 10)" : "rgb(255, 255, 255)");
    // A page that says nothing was made for light colours.
    await windowOf(page, "plain").frameLocator("iframe").getByText("Plain").waitFor();
    expect(await colour("plain"), "a page that supports light colours only").toBe("rgb(255, 255, 255)");
    await page.close();
  }
});

it("the number of rows of a narrow table keeps its distance from the filter", async () => {
  const session = await desktop.hub.rest.newSession("table");
  const page = await desktop.tab({ session });
  const rows = Array.from({ length: 40 }, (_, n) => [`Tea ${n}`, `${n}`]);
  await desktop.hub.rest.runActions(session, [{ type: "window.create", windowId: "table", title: "Table", bounds: small, content: { renderer: "table", data: { headers: ["Item", "Price"], rows } } }]);
  const foot = windowOf(page, "table").locator(".content-table-foot");
  const [count, filter] = [await foot.locator("span").first().boundingBox(), await foot.locator(".content-filter").boundingBox()];
  expect(filter!.x - (count!.x + count!.width), "px between the number and the filter").toBeGreaterThanOrEqual(8);
});

it("a phone shows the number of ten windows in one line, and its field has space for a sentence", async () => {
  const session = await desktop.hub.rest.newSession("phone");
  const page = await desktop.tab({ session, prefs: { language: "ko" }, context: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, locale: "ko-KR" } });
  await desktop.hub.rest.runActions(
    session,
    Array.from({ length: 10 }, (_, n) => ({ type: "window.create" as const, windowId: `w${n}`, title: `Window ${n}`, bounds: small, content: { renderer: "text" as const, data: "Text" } })),
  );
  const count = page.locator('.phone-pages-count[data-count="10"]');
  await count.waitFor();
  expect((await count.boundingBox())!.height, "height of the number in px").toBeLessThanOrEqual(16);
  expect((await page.locator("[data-command-bar]").boundingBox())!.width, "width of the field in px").toBeGreaterThanOrEqual(160);
});

it("texts that were formatted leave no documents behind", async () => {
  const session = await desktop.hub.rest.newSession("texts");
  const page = await desktop.tab({ session });
  const dev = await devtools(page);
  await dev.send("Performance.enable");
  const documents = async (): Promise<number> => {
    for (let n = 0; n < 3; n++) await dev.send("HeapProfiler.collectGarbage");
    return (await dev.send("Performance.getMetrics")).metrics.find((m) => m.name === "Documents")!.value;
  };
  const show = async (n: number): Promise<void> => {
    await desktop.hub.rest.runActions(session, [{ type: "window.create", windowId: "text", title: "Text", bounds: small, content: { renderer: "markdown", data: `# Text ${n}\n\n**Words** ${n}\n\n- one\n- two` } }]);
    await windowOf(page, "text").getByRole("heading", { name: `Text ${n}`, exact: true }).waitFor();
  };
  await show(0);
  const before = await documents();
  for (let n = 1; n <= 30; n++) await show(n);
  expect((await documents()) - before, "documents that 30 texts left behind").toBeLessThanOrEqual(5);
});

it("the first screen cuts no shadow, leaves the command bar on top, and all its buttons can be pressed on a small laptop", async () => {
  const profile = await desktop.profile({ toured: false });
  // Three sessions that were used before make the card higher than a small laptop.
  for (const name of ["Garden", "Kitchen", "Balcony"]) await desktop.hub.rest.newSession(name);
  const session = await desktop.hub.rest.newSession("first");
  const page = await desktop.tab({ session, profile });
  for (const viewport of [{ width: 1440, height: 900 }, { width: 1024, height: 700 }]) {
    await page.setViewportSize(viewport);
    const size = `at ${viewport.width}×${viewport.height}`;
    const card = page.locator(".tour-card");
    await card.locator("[data-recent]").nth(2).waitFor();
    expect(await page.locator(".app-canvas").evaluate((e) => getComputedStyle(e).overflow), `overflow of the canvas ${size}`).toBe("clip");
    expect(await topAt(commandBar(page)), `topmost at the command bar ${size}`).toBe(true);
    for (const button of await card.locator("button:not([disabled])").all()) {
      await button.scrollIntoViewIfNeeded();
      expect(await topAt(button), `${await button.innerText()} can be pressed ${size}`).toBe(true);
    }
  }
});

it("a window that reaches below the desktop has its shadow under the dock, and the dock stays on top", async () => {
  const session = await desktop.hub.rest.newSession("below");
  const page = await desktop.tab({ session, context: { viewport: { width: 1024, height: 700 } } });
  await showWindow(desktop.hub, session, page, "low", { renderer: "text", data: "Low" }, { bounds: { x: 300, y: 60, w: 420, h: 520 } });
  // As a person who drags it there sees it.
  await windowOf(page, "low").evaluate((e) => (e.style.height = "900px"));
  expect(await topAt(commandBar(page)), "topmost at the command bar").toBe(true);
  const attach = page.getByRole("button", { name: "Attach files" });
  expect(await topAt(attach), "topmost at the first button of the command bar").toBe(true);
  const margin = await page.locator(".app-canvas").evaluate((e) => getComputedStyle(e).overflowClipMargin);
  expect(margin, "how far shadows go on").toBe("64px");
});

it("a number in a table of a text stays in one line", async () => {
  const session = await desktop.hub.rest.newSession("numbers");
  const page = await desktop.tab({ session });
  const data = "| When | What | Owner | Budget |\n|---|---|---|--:|\n| September | A pilot in fifty homes that takes long | Jonas and Mina | € 12,000 |";
  await showWindow(desktop.hub, session, page, "table", { renderer: "markdown", data }, { bounds: small });
  const cells = windowOf(page, "table").locator("tbody td");
  await cells.nth(3).waitFor();
  const lines = (n: number): Promise<number> =>
    cells.nth(n).evaluate((e) => {
      const range = document.createRange();
      range.selectNodeContents(e);
      return new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size;
    });
  expect(await lines(1), "lines of the long text").toBeGreaterThan(1);
  expect(await lines(3), "lines of the number").toBe(1);
});

/** Whether the centre of an element is not covered. */
function topAt(element: Locator): Promise<boolean> {
  return element.evaluate((e) => {
    const r = e.getBoundingClientRect();
    return e.contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2));
  });
}
