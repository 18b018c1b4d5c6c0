// The time that the page takes to show a text of 64 characters that is appended to a window, by the size of the window.

import type { CDPSession } from "playwright-core";
import { it } from "vitest";
import { showWindow } from "./harness/content.js";
import { until, windowOf } from "./harness/desktop-page.js";
import { desktopFixture, devtools } from "./harness/fixture.js";

const desktop = desktopFixture();
const appends = 100;
const line = `${"Some words of a text. ".repeat(3).slice(0, 63)}\n`;

/** The time that the page has worked so far, in ms. */
async function worked(dev: CDPSession): Promise<number> {
  const { metrics } = await dev.send("Performance.getMetrics");
  return 1000 * (metrics.find((m) => m.name === "TaskDuration")?.value ?? 0);
}

for (const renderer of ["text", "markdown"] as const) {
  for (const size of [1 << 10, 64 << 10, (1 << 20) - appends * 64]) {
    it(`appending to a ${renderer} window of ${size >> 10} KiB`, async () => {
      const session = await desktop.hub.rest.newSession("append");
      const page = await desktop.tab({ session });
      await showWindow(desktop.hub, session, page, "w", { renderer, data: "" });
      const append = (data: string): Promise<void> =>
        desktop.hub.rest.runActions(session, [{ type: "window.updateContent", windowId: "w", operation: { op: "append", data } }]);
      const lines = (n: number): string => (renderer === "text" ? line : `${line}\n`).repeat(n).slice(0, n * 64);
      for (let left = size; left > 0; left -= 32 << 10) await append(lines(Math.min(left, 32 << 10) / 64));
      const scroll = windowOf(page, "w").locator(".content-scroll");
      await until(async () => (await scroll.textContent())!.length).toBeGreaterThan(size / 2);
      await scroll.evaluate((e) => (e.scrollTop = e.scrollHeight));
      const dev = await devtools(page);
      await dev.send("Performance.enable");
      const before = await worked(dev);
      for (let n = 0; n < appends; n++) await append(n === appends - 1 ? `${"the end".padStart(63)}\n` : line);
      await until(async () => (await scroll.textContent())!.includes("the end")).toBe(true);
      process.stdout.write(`append to ${size >> 10} KiB of ${renderer}: ${((await worked(dev)) / appends - before / appends).toFixed(2)} ms of the page's time\n`);
    });
  }
}
