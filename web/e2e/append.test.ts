// Text that is appended to a window: it is shown as it is, and what was shown before stays.

import { expect, it } from "vitest";
import { showWindow } from "./harness/content.js";
import { until, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

it("a long text grows at its end", async () => {
  const session = await desktop.hub.rest.newSession("append");
  const page = await desktop.tab({ session });
  let text = Array.from({ length: 600 }, (_, i) => `line ${i}\n\n`).join("");
  await showWindow(desktop.hub, session, page, "w", { renderer: "text", data: text });
  const shown = windowOf(page, "w").locator("pre.content-text");
  await until(() => shown.textContent()).toBe(text);
  const first = await shown.locator(".md-piece").first().elementHandle();
  await shown.evaluate((pre) => {
    const scroll = pre.parentElement!;
    scroll.scrollTop = scroll.scrollHeight;
  });
  for (const data of ["a word", "\nand a line\n", "x".repeat(9000), "the last\n".repeat(120)]) {
    text += data;
    await desktop.hub.rest.runActions(session, [{ type: "window.updateContent", windowId: "w", operation: { op: "append", data } }]);
    await until(() => shown.textContent()).toBe(text);
  }
  expect(await first!.evaluate((e) => e.isConnected && e.textContent!.startsWith("line 0\n"))).toBe(true);
  await until(() => shown.evaluate((pre) => {
    const scroll = pre.parentElement!;
    return scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 24;
  })).toBe(true);
  const again = await desktop.tab({ session });
  await until(() => windowOf(again, "w").locator("pre.content-text").textContent()).toBe(text);
});
