// Pages of agents and diagrams in their frames.

import { expect, it } from "vitest";
import { showWindow } from "./harness/content.js";
import { until, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

it("a page whose first hello the desktop has not heard is shown", async () => {
  const session = await desktop.hub.rest.newSession("hello");
  const profile = await desktop.profile();
  await profile.addInitScript(() => {
    if (window !== top) return;
    const deaf = (e: MessageEvent): void => {
      if ((e.data as { type?: string } | null)?.type !== "everdesk:hello") return;
      e.stopImmediatePropagation();
      removeEventListener("message", deaf, true);
      document.documentElement.dataset.missed = "hello";
    };
    addEventListener("message", deaf, true);
  });
  const page = await desktop.tab({ session, profile });
  await showWindow(desktop.hub, session, page, "page", { renderer: "html", data: "<h1>Here I am</h1>" });
  await windowOf(page, "page").frameLocator("iframe").getByText("Here I am").waitFor();
  expect(await page.evaluate(() => document.documentElement.dataset.missed)).toBe("hello");
});

it("a page that stays silent in its first load is loaded again, without a click", async () => {
  const session = await desktop.hub.rest.newSession("silent");
  const profile = await desktop.profile();
  await profile.addInitScript(() => {
    if (window !== top) return;
    let first: unknown;
    addEventListener(
      "message",
      (e) => {
        const hello = e.data as { type?: string; token?: string } | null;
        if (hello?.type !== "everdesk:hello") return;
        first ??= hello.token;
        if (hello.token === first) e.stopImmediatePropagation();
        else document.documentElement.dataset.loaded = "again";
      },
      true,
    );
  });
  const page = await desktop.tab({ session, profile });
  await showWindow(desktop.hub, session, page, "page", { renderer: "html", data: "<h1>Here I am</h1>" });
  await windowOf(page, "page").frameLocator("iframe").getByText("Here I am").waitFor();
  expect(await page.evaluate(() => document.documentElement.dataset.loaded)).toBe("again");
});

it("four pages that another window covers show their content after a reload", async () => {
  const session = await desktop.hub.rest.newSession("covered");
  const page = await desktop.tab({ session });
  const bounds = { x: 100, y: 60, w: 320, h: 220 };
  const ids = ["one", "two", "three", "four"];
  for (const id of ids) await showWindow(desktop.hub, session, page, id, { renderer: "html", data: `<h1>Page ${id}</h1>` }, { bounds });
  await showWindow(desktop.hub, session, page, "cover", { renderer: "text", data: "Cover" }, { bounds: { x: 80, y: 40, w: 700, h: 480 } });
  await page.reload();
  for (const id of ids) await windowOf(page, id).frameLocator("iframe").getByText(`Page ${id}`).waitFor({ state: "attached" });
  for (const id of ids) expect(await windowOf(page, id).locator("[data-content-state]").getAttribute("data-content-state"), id).toBe("ready");
});

it("a diagram whose script is late is drawn after all", async () => {
  const session = await desktop.hub.rest.newSession("late");
  const profile = await desktop.profile();
  let go = (): void => undefined;
  const gate = new Promise<void>((done) => (go = done));
  let waiting = false;
  await profile.route(/\/diagram[^/]*\.js/, async (route) => {
    waiting = true;
    await gate;
    await route.continue();
  });
  const page = await desktop.tab({ session, profile });
  await showWindow(desktop.hub, session, page, "flow", { renderer: "markdown", data: "```mermaid\nflowchart LR\n  a[Begin] --> b[End]\n```" });
  await until(() => waiting).toBe(true);
  await page.waitForFunction((from) => performance.now() - from > 3000, await page.evaluate(() => performance.now())); // once it gave up after 2 s
  go();
  await windowOf(page, "flow").frameLocator(".md-diagram iframe").locator(".node").first().waitFor();
});

it("a reload shows a formatted text at once: neither its marks nor a line that says that it is opening", async () => {
  const session = await desktop.hub.rest.newSession("reload");
  const profile = await desktop.profile();
  await profile.addInitScript(() => {
    if (window !== top) return;
    const seen: string[] = [];
    Object.assign(globalThis, { seen });
    new MutationObserver(() => {
      for (const e of document.querySelectorAll("section[data-window-id] .content *")) {
        const text = e.childElementCount === 0 ? e.textContent : "";
        if (/\*\*|Opening/.test(text) && e.checkVisibility({ visibilityProperty: true, opacityProperty: true })) seen.push(text);
      }
    }).observe(document, { subtree: true, childList: true, characterData: true });
  });
  const page = await desktop.tab({ session, profile });
  await showWindow(desktop.hub, session, page, "text", { renderer: "markdown", data: "# Title\n\nSome **strong** words." });
  const strong = windowOf(page, "text").locator("strong");
  await strong.waitFor();
  await page.reload();
  await strong.waitFor();
  expect(await page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen), "what was shown before").toEqual([]);
});

it("a diagram has the colours of the theme, and is drawn again with those of another", async () => {
  const session = await desktop.hub.rest.newSession("diagram");
  const page = await desktop.tab({ session });
  await showWindow(desktop.hub, session, page, "plan", { renderer: "markdown", data: "```mermaid\nflowchart LR\n  a[Begin] --> b[End]\n```" });
  const fill = (): Promise<string> =>
    windowOf(page, "plan").frameLocator(".md-diagram iframe").locator(".node rect, .node path").first().evaluate((e) => getComputedStyle(e).fill);
  await until(fill).toBe("rgb(11, 16, 25)"); // --bg of the dark theme
  await page.evaluate(() => (document.documentElement.dataset.theme = "light"));
  await until(fill).toBe("rgb(233, 238, 244)");
});
