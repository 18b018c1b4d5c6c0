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
