// Notebooks in the browser, with a real Jupyter server: running, outputs of all kinds, editing in two tabs, and a hub that is
// killed while code prints.

import { spawn } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import type { Cell, Notebook, SessionID } from "../core/src/index.js";
import { findViolations } from "./harness/axe.js";
import { until, waitForLink, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const token = "notebook-test";
const port = await new Promise<number>((done) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const at = probe.address();
    probe.close(() => done(typeof at === "object" && at !== null ? at.port : 0));
  });
});
const dir = await mkdtemp(join(tmpdir(), "everdesk-e2e-jupyter-"));
// A server of its own, which survives the hub.
const jupyter = spawn(
  "/usr/bin/jupyter-server",
  [
    ...["--allow-root", "--no-browser", "--ip=127.0.0.1", `--port=${String(port)}`, "--ServerApp.port_retries=0", `--ServerApp.root_dir=${dir}`],
    ...["--ServerApp.iopub_data_rate_limit=0", "--ServerApp.iopub_msg_rate_limit=0"],
  ],
  {
    stdio: "ignore",
    env: { PATH: process.env["PATH"], HOME: dir, JUPYTER_TOKEN: token, JUPYTER_RUNTIME_DIR: join(dir, "r"), JUPYTER_CONFIG_DIR: join(dir, "c"), JUPYTER_DATA_DIR: join(dir, "d"), IPYTHONDIR: join(dir, "i") },
  },
);
afterAll(() => void jupyter.kill("SIGKILL"));

process.env["HUB_JUPYTER_TOKEN"] = token; // hubs inherit it; there is no flag for it
const desktop = desktopFixture({ flags: ["--jupyter-url", `http://127.0.0.1:${String(port)}`] });

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Opens a notebook with cells c1, c2, … of code. */
async function open(session: SessionID, id: string, ...sources: string[]): Promise<void> {
  const cells = sources.map((source, i): Cell => ({ id: `c${String(i + 1)}`, kind: "code", source }));
  await desktop.hub.rest.runActions(session, [
    { type: "window.create", windowId: id, title: "Notebook", bounds: { x: 40, y: 40, w: 760, h: 560 }, content: { renderer: "notebook", data: { cells } } },
  ]);
}

async function notebookOf(session: SessionID, id: string): Promise<Notebook> {
  const w = await desktop.hub.rest.window(session, id);
  return w!.content.data as Notebook;
}

const cell = (page: Page, id: string, n: number): Locator => windowOf(page, id).locator(`[data-cell="c${String(n)}"]`);
const outputs = (page: Page, id: string, n: number): Locator => cell(page, id, n).locator("[data-outputs]");
const shown = async (page: Page, id: string, n: number): Promise<string> => (await outputs(page, id, n).innerText()).trim();
const runAll = (page: Page, id: string): Promise<void> => windowOf(page, id).getByRole("button", { name: "Run all" }).click();

async function serverIsUp(): Promise<void> {
  await until(async () => (await fetch(`http://127.0.0.1:${String(port)}/api`).catch(() => undefined))?.status ?? 0).toBe(200);
}

it("cells run in both tabs, with text, colours, pictures, tables and sandboxed pages, and edits appear in the other tab", async () => {
  await serverIsUp();
  const session = await desktop.hub.rest.newSession("notebook");
  const [page, other] = [await desktop.tab({ session }), await desktop.tab({ session })];
  await open(
    session,
    "n",
    "print('\\x1b[31mred\\x1b[0m plain')\nprint('10%', end='\\r')\nprint('99%')",
    `import base64\nfrom IPython.display import display, Image, HTML, SVG\ndisplay(Image(data=base64.b64decode('${png}'), format='png'))\ndisplay(SVG('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>window.hacked = 1</script><rect width="9" height="9"/></svg>'))`,
    "display(HTML('<table><tr><td>cell of a table</td></tr></table><img src=x onerror=\"window.hacked = 2\">'))",
    "1/0",
  );
  await windowOf(page, "n").locator(".notebook-editor").first().waitFor();
  await runAll(page, "n");
  for (const tab of [page, other]) {
    await until(() => shown(tab, "n", 1)).toBe("red plain\n99%");
    expect(await outputs(tab, "n", 1).locator('[data-fg="1"]').innerText()).toBe("red");
    await until(() => outputs(tab, "n", 2).locator("img").count()).toBe(2);
    await until(() => outputs(tab, "n", 3).locator("td").innerText()).toBe("cell of a table");
    await until(() => outputs(tab, "n", 4).innerText()).toContain("ZeroDivisionError");
    expect(await tab.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined();
  }

  // Editing and running with the keyboard only. Browsers keep the look of replaced text with inline styles, which the policy refuses.
  desktop.guard.expect(/style-src/);
  const editor = cell(page, "n", 4).locator(".cm-content");
  await editor.focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("print(6 * 7)");
  await page.keyboard.press("Shift+Enter");
  for (const tab of [page, other]) await until(() => shown(tab, "n", 4)).toBe("42");
  await until(() => cell(other, "n", 4).locator(".cm-content").innerText()).toBe("print(6 * 7)");
  await page.keyboard.press("Escape");
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("BUTTON");

  // Edits of different cells in two tabs at the same time.
  for (const [tab, n] of [[page, 1], [other, 2]] as const) {
    await cell(tab, "n", n).locator(".cm-content").focus();
    await tab.keyboard.press("Control+a");
    await tab.keyboard.type(`x = ${String(n)}`);
  }
  await until(async () => (await notebookOf(session, "n")).cells.slice(0, 2).map((c) => c.source)).toEqual(["x = 1", "x = 2"]);
  expect(await findViolations(page)).toEqual([]);

  const file = (await desktop.hub.rest.request("GET", `/api/sessions/${session}/notebooks/n`)) as { nbformat: number; cells: unknown[] };
  expect([file.nbformat, file.cells.length]).toEqual([4, 4]);
});

it("a hub that is killed while code prints goes on: every line is there once, in both tabs", async () => {
  await serverIsUp();
  const session = await desktop.hub.rest.newSession("killed");
  const [page, other] = [await desktop.tab({ session }), await desktop.tab({ session })];
  const lines = 150;
  await open(session, "k", `import time\nfor i in range(${String(lines)}):\n    print(i, flush=True)\n    time.sleep(0.05)`);
  await windowOf(page, "k").locator(".notebook-editor").first().waitFor();
  await windowOf(other, "k").locator(".notebook-editor").first().waitFor();
  await runAll(page, "k");
  await until(() => outputs(page, "k", 1).innerText()).toContain("\n5\n");
  desktop.guard.expectLostHub();
  await desktop.hub.kill();
  await desktop.hub.up();
  const want = Array.from({ length: lines }, (_, i) => String(i)).join("\n");
  for (const tab of [page, other]) {
    await waitForLink(tab, "live");
    await until(() => shown(tab, "k", 1)).toBe(want);
    await until(() => cell(tab, "k", 1).getAttribute("data-state")).toBe("ok");
  }
  // Interrupt.
  await open(session, "i", "print('begun', flush=True)\nwhile True: pass");
  await windowOf(page, "i").locator(".notebook-editor").first().waitFor();
  await runAll(page, "i");
  await until(() => outputs(page, "i", 1).innerText()).toContain("begun");
  await windowOf(page, "i").getByRole("button", { name: "Interrupt" }).click();
  await until(() => outputs(page, "i", 1).innerText()).toContain("KeyboardInterrupt");
  await until(() => windowOf(page, "i").locator("[data-kernel]").getAttribute("data-kernel")).toBe("idle");
});

it("a new notebook opens from the palette, lists its variables, and a file that was opened offers to run its cells again", async () => {
  await serverIsUp();
  const session = await desktop.hub.rest.newSession("new");
  const page = await desktop.tab({ session });
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("new notebook");
  await page.getByRole("option", { name: "New notebook", exact: true }).click();
  const w = windowOf(page, "notebook-1");
  await w.locator(".cm-content").focus();
  await page.keyboard.type("answer = 6 * 7");
  await page.keyboard.press("Shift+Enter");
  await w.getByText("Variables (1)").click();
  await until(() => w.locator(".notebook-variables tbody tr").innerText()).toBe("answer\tint\t42");
  expect(await findViolations(page)).toEqual([]);

  // A file that was opened has outputs that no kernel knows.
  const file = await desktop.hub.rest.request("GET", `/api/sessions/${session}/notebooks/notebook-1`);
  await desktop.hub.rest.request("PUT", `/api/sessions/${session}/notebooks/again`, file);
  const again = windowOf(page, "again");
  await again.getByRole("button", { name: "Run all again" }).click();
  await until(() => again.locator("[data-kernel]").getAttribute("data-kernel")).toBe("idle");
  await again.getByText("Variables (1)").waitFor();
});
