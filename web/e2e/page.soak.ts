// A page that is used for an hour, in fast motion; npm run soak. SOAK is the duration in minutes (60). A person opens and
// closes perhaps a hundred windows in an hour; here it is thousands, so that a leak of one object each time is seen.

import type { CDPSession, Page } from "playwright-core";
import { expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { centre, sendMessage, titleBar, until, waitForRow, windowOf } from "./harness/desktop-page.js";
import { desktopFixture, devtools } from "./harness/fixture.js";

const desktop = desktopFixture();
const minutes = Number(process.env.SOAK ?? "60");

/** The rounds before the first measurement: every part was used, and lists with a limit have reached it. */
const warmUp = 60;
/** What may be added to the heap in all rounds, in bytes. Code that the browser compiles late counts, too. */
const maxGrowth = 2e6;

interface MemoryUse {
  heap: number;
  nodes: number;
  listeners: number;
}

async function measureMemory(dev: CDPSession): Promise<MemoryUse> {
  // Objects that hold each other through finalizers need several collections.
  for (let n = 0; n < 3; n++) await dev.send("HeapProfiler.collectGarbage");
  const { metrics } = await dev.send("Performance.getMetrics");
  const of = (name: string): number => metrics.find((m) => m.name === name)?.value ?? 0;
  return { heap: of("JSHeapUsedSize"), nodes: of("Nodes"), listeners: of("JSEventListeners") };
}

const contents = [
  { renderer: "markdown", data: "# Text\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nlet x = 1;\n```" },
  { renderer: "table", data: { headers: ["Item", "Price"], rows: [["Tea", "3"], ["Cake", "5"]] } },
  { renderer: "chart", data: { kind: "bar", labels: ["Mon", "Tue"], series: [{ name: "Tea", values: [3, 5] }], description: "Cups." } },
  { renderer: "html", data: "<h1>Page</h1><button>Press</button>" },
  { renderer: "text", data: "words ".repeat(200) },
];

/** Opens ten windows, tidies, moves, minimises and closes them, all of which a person does with mouse and keyboard. */
async function useWindows(page: Page, session: SessionID, round: number): Promise<void> {
  const ids = Array.from({ length: 10 }, (_, n) => `soak-${n}`);
  const actions = ids.map((windowId, n) => ({ type: "window.create", windowId, title: `Window ${n}`, bounds: { x: 20 + 40 * n, y: 20 + 24 * n, w: 320, h: 220 }, content: contents[(n + round) % contents.length] }));
  await desktop.hub.rest.runActions(session, actions as never);
  await windowOf(page, "soak-9").waitFor();
  const bar = await centre(titleBar(page, "soak-9"));
  await page.mouse.move(bar.x, bar.y);
  await page.mouse.down();
  await page.mouse.move(bar.x + 40, bar.y + 30, { steps: 5 });
  await page.mouse.up();
  await titleBar(page, "soak-9").focus();
  await page.keyboard.press("Alt+ArrowLeft");
  await page.keyboard.press("Alt+KeyT");
  await page.keyboard.press("Alt+KeyW");
  await page.getByRole("dialog", { name: "Overview of all windows" }).waitFor();
  await page.keyboard.press("Escape");
  await titleBar(page, "soak-9").focus();
  await page.keyboard.press("Shift+F10");
  await page.getByRole("menuitem", { name: "Minimise", exact: true }).click();
  await page.locator("[data-dock-window=soak-9]").click();
  await page.keyboard.press("Control+k");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.type("close all");
  await page.getByRole("option", { name: "Close all windows" }).waitFor();
  await page.keyboard.press("Enter");
  await until(() => page.locator("section[data-window-id]").count()).toBe(0);
}

it(
  "the heap of a page that is used for long does not grow",
  async () => {
    const session = await desktop.hub.rest.newSession("soak");
    const page = await desktop.tab({ session });
    const dev = await devtools(page);
    await dev.send("Performance.enable");
    let end = Number.POSITIVE_INFINITY;
    let first: MemoryUse | undefined;
    let last: MemoryUse | undefined;
    let shown = Date.now();
    const mb = (n: number): string => (n / 1e6).toFixed(2);
    let round = 0;
    for (; Date.now() < end; round++) {
      await useWindows(page, session, round);
      await sendMessage(page, `/think hm\n/stream 40 400\n/call window_list {}\n/say round ${round} is over`);
      await waitForRow(page, `round ${round} is over`);
      if (round === warmUp) {
        first = await measureMemory(dev);
        end = Date.now() + minutes * 60_000;
      } else if (first !== undefined && Date.now() - shown >= 60_000) {
        shown = Date.now();
        last = await measureMemory(dev);
        process.stdout.write(`round ${round}: heap ${mb(last.heap)} MB, ${last.nodes} nodes, ${last.listeners} listeners\n`);
      }
    }
    last = await measureMemory(dev);
    process.stdout.write(`${round} rounds, ${10 * round} windows: heap ${mb(first!.heap)} → ${mb(last.heap)} MB, nodes ${first!.nodes} → ${last.nodes}, listeners ${first!.listeners} → ${last.listeners}\n`);
    expect(last.heap - first!.heap, "growth of the heap in bytes").toBeLessThan(maxGrowth);
    expect(last.nodes, "nodes of the document").toBeLessThan(first!.nodes * 1.2 + 200);
    expect(last.listeners, "listeners").toBeLessThan(first!.listeners * 1.2 + 50);
  },
  (2 * minutes + 10) * 60_000,
);
