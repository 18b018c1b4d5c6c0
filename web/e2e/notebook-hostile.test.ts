// Hostile code in notebooks: its outputs reach neither the page nor the hub, and however much they are, the page goes on.

import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Cell } from "../core/src/index.js";
import { findViolations } from "./harness/axe.js";
import { doneFrame } from "./harness/content.js";
import { until, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { startTrap, type Trap } from "./harness/trap.js";

const dir = await mkdtemp(join(tmpdir(), "everdesk-e2e-hostile-notebook-"));
const desktop = desktopFixture({ flags: ["--jupyter", "auto", "--agents-folder", join(dir, "agents"), "--files-dir", join(dir, "files")] });
let trap: Trap;

beforeEach(async () => {
  trap = await startTrap();
});

afterEach(() => trap.close());

it("hostile outputs do nothing but look odd, in both tabs: scripts, handlers, pages, garbage and 100 MB of text", async () => {
  desktop.guard.expect(/Content Security Policy|policy: |sandboxed|SecurityError|Unsafe attempt|Blocked|ERR_BLOCKED|net::ERR_FAILED|ERR_INVALID_URL/);
  const session = await desktop.hub.rest.newSession("hostile");
  const [page, other] = [await desktop.tab({ session }), await desktop.tab({ session })];
  const script = `
    const hub = ${JSON.stringify(desktop.hub.url)}, evil = ${JSON.stringify(trap.url)}, out = {};
    const attempt = async (name, act) => { try { out[name] = String(await act()) } catch (e) { out[name] = "blocked" } };
    (async () => {
      await attempt("page", () => { parent.hacked = 1; return parent.document.title });
      await attempt("top", () => { top.hacked = 1; return top.document.title });
      await attempt("cookie", () => document.cookie);
      await attempt("storage", () => localStorage.length);
      await attempt("hub", () => fetch(hub + "/api/sessions", { credentials: "include" }).then((r) => r.status));
      await attempt("sent", () => fetch(hub + "/api/sessions", { credentials: "include", mode: "no-cors", method: "POST", body: "{}" }).then((r) => r.type));
      await attempt("elsewhere", () => fetch(evil, { mode: "no-cors" }).then((r) => r.type));
      document.documentElement.dataset.out = JSON.stringify(out);
      document.documentElement.dataset.done = "yes";
    })();`;
  const shows = "from IPython.display import display, HTML, Javascript, Markdown, SVG, Latex\n";
  const beacon = `<img src="${trap.url}/x"><img src=x onerror="window.hacked = 1">`;
  const sources = [
    `${shows}display(HTML(${JSON.stringify(`<p>page</p><script>${script}</script>`)}))`,
    `${shows}display(Javascript("window.hacked = 1"))
display(HTML(${JSON.stringify(`<p>text</p>${beacon}<a href="javascript:window.hacked = 1">link</a><form action="${trap.url}"><button>send</button></form><style>body { display: none }</style>`)}))
display(Markdown(${JSON.stringify(`**strong** ${beacon} [a](javascript:window.hacked=1)`)}))
display(Latex(${JSON.stringify(beacon)}))
display(SVG(${JSON.stringify(`<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="window.hacked = 1"><image href="${trap.url}/y"/><rect width="9" height="9"/></svg>`)}))`,
    `import os
os.write(1, bytes(range(256)) * 40)
${shows}display({"image/png": "no base64 <script>window.hacked = 1</script>", "text/plain": "\\x00\\x1b[31;999;;m\\x1b]0;x"}, raw=True)
display({"application/octet-stream": "\\x00", "text/html": ["<b>", "</b></div></section>"]}, raw=True)
display({}, raw=True)
try:
    display({"text/plain": "\\ud83d is half a character"}, raw=True)
except UnicodeEncodeError:
    pass  # some kernels refuse it themselves
print("\\u202e\\x00after the garbage")`,
    "for i in range(1600): print('x' * 65535)",
    "raise type('<img src=x onerror=window.hacked=1>', (Exception,), {})('<script>window.hacked = 1</script>')",
  ];
  const cells = sources.map((source, i): Cell => ({ id: `c${String(i + 1)}`, kind: "code", source }));
  await desktop.hub.rest.runActions(session, [
    { type: "window.create", windowId: "n", title: "Notebook", bounds: { x: 40, y: 40, w: 760, h: 560 }, content: { renderer: "notebook", data: { cells } } },
  ]);
  await windowOf(page, "n").locator(".notebook-editor").first().waitFor();
  await windowOf(page, "n").getByRole("button", { name: "Run all" }).click();
  for (const tab of [page, other]) {
    const cell = (n: number) => windowOf(tab, "n").locator(`[data-cell="c${String(n)}"]`);
    await until(() => cell(5).getAttribute("data-state")).toBe("error");
    expect(await Promise.all([1, 2, 3, 4].map((n) => cell(n).getAttribute("data-state")))).toEqual(["ok", "ok", "ok", "ok"]);
    await until(() => cell(5).locator("[data-outputs]").innerText()).toContain("<script>window.hacked = 1</script>");
    await cell(4).getByText("100 MB of output were left out.").waitFor();
    expect((await cell(4).locator("[data-outputs]").innerText()).length).toBeLessThan(200_000);
    await until(() => cell(3).locator("[data-outputs]").innerText()).toContain("after the garbage");
    await until(() => cell(2).locator("[data-outputs]").innerText()).toContain("strong");
    const frame = await doneFrame(desktop.hub, tab);
    const out = JSON.parse((await frame.evaluate(() => document.documentElement.dataset.out)) ?? "{}") as Record<string, string>;
    expect(out).toEqual(Object.fromEntries(["page", "top", "cookie", "storage", "hub", "sent", "elsewhere"].map((name) => [name, "blocked"])));
    expect(await tab.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined();
    expect(await tab.evaluate(() => getComputedStyle(document.body).display)).not.toBe("none");
    expect(await findViolations(tab)).toEqual([]);
  }
  expect(trap.caught).toEqual([]);

  // The page, the hub and the kernel go on.
  const drawn = windowOf(page, "n").locator("[data-cell]");
  const before = await drawn.count();
  await windowOf(page, "n").getByRole("button", { name: "Add code" }).click();
  await until(() => drawn.count()).toBe(before + 1);
  await drawn.last().locator(".cm-content").focus();
  await page.keyboard.type("print('al' + 'ive')");
  await page.keyboard.press("Shift+Enter");
  await until(() => windowOf(other, "n").locator("[data-outputs]").last().innerText()).toContain("alive");
});
