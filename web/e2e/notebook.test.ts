// Notebooks in the browser, with a real Jupyter server: running, outputs of all kinds, editing in two tabs, and a hub that is
// killed while code prints.

import { execFile } from "node:child_process";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import type { Cell, Notebook, SessionID } from "../core/src/index.js";
import { findViolations } from "./harness/axe.js";
import { commandBar, questionCard, until, waitForLink, waitForRow, waitUntilArmed, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

// The hub starts the server, as for a new user. It goes on when the hub is killed, and ends when it stops.
const dir = await mkdtemp(join(tmpdir(), "everdesk-e2e-notebook-"));
const desktop = desktopFixture({ flags: ["--jupyter", "auto", "--agents-folder", join(dir, "agents"), "--files-dir", join(dir, "files")] });

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

/** A signal, and Python that waits for it. */
function newSignal(name: string): { send: () => Promise<void>; waits: string } {
  const file = join(dir, name);
  return { send: () => writeFile(file, ""), waits: `while not __import__("os").path.exists(${JSON.stringify(file)}): __import__("time").sleep(0.01)` };
}

const cell = (page: Page, id: string, n: number): Locator => windowOf(page, id).locator(`[data-cell="c${String(n)}"]`);
const outputs = (page: Page, id: string, n: number): Locator => cell(page, id, n).locator("[data-outputs]");
const shown = async (page: Page, id: string, n: number): Promise<string> => (await outputs(page, id, n).innerText()).trim();
const runAll = (page: Page, id: string): Promise<void> => windowOf(page, id).getByRole("button", { name: "Run all" }).click();

it("cells run in both tabs, with text, colours, pictures, tables and sandboxed pages, and edits appear in the other tab", async () => {
  // Some versions of Chromium report handlers in HTML that is parsed to remove them.
  desktop.guard.expect(/Content Security Policy directive 'script-src|policy: script-src-attr/);
  const session = await desktop.hub.rest.newSession("notebook");
  const [page, other] = [await desktop.tab({ session }), await desktop.tab({ session })];
  await open(
    session,
    "n",
    "print('\\x1b[31mred\\x1b[0m plain')\nprint('10%', end='\\r')\nprint('99%')",
    `import base64\nfrom IPython.display import display, Image, HTML, SVG\ndisplay(Image(data=base64.b64decode('${png}'), format='png'))\ndisplay(SVG('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>window.hacked = 1</script><rect width="9" height="9"/></svg>'))\nimport io\nfrom PIL import Image as P\nb = io.BytesIO()\nP.new('RGB', (9, 9)).save(b, 'JPEG')\ndisplay(Image(data=b.getvalue(), format='jpeg'))`,
    "display(HTML('<table><tr><td>cell of a table</td></tr></table><img src=x onerror=\"window.hacked = 2\">'))",
    "1/0",
  );
  await windowOf(page, "n").locator(".notebook-editor").first().waitFor();
  await runAll(page, "n");
  for (const tab of [page, other]) {
    await until(() => shown(tab, "n", 1)).toBe("red plain\n99%");
    expect(await outputs(tab, "n", 1).locator('[data-fg="1"]').innerText()).toBe("red");
    await until(() => outputs(tab, "n", 2).locator("img").count()).toBe(3);
    // All of them can be drawn, also the sanitised drawing.
    await until(() => outputs(tab, "n", 2).locator("img").evaluateAll((all) => all.filter((i) => (i as HTMLImageElement).naturalWidth > 0).length)).toBe(3);
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
  const session = await desktop.hub.rest.newSession("killed");
  const [page, other] = [await desktop.tab({ session }), await desktop.tab({ session })];
  const lines = 150;
  const [killed, back] = [newSignal("hub-is-killed"), newSignal("hub-is-back")];
  const code = `for i in range(${String(lines)}):\n    print(i, flush=True)\n    if i == 50:\n        ${killed.waits}\n    if i == 100:\n        ${back.waits}`;
  await open(session, "k", code);
  await windowOf(page, "k").locator(".notebook-editor").first().waitFor();
  await windowOf(other, "k").locator(".notebook-editor").first().waitFor();
  await runAll(page, "k");
  await until(() => outputs(page, "k", 1).innerText()).toContain("\n5\n");
  desktop.guard.expectLostHub();
  await desktop.hub.kill();
  await killed.send();
  await desktop.hub.up();
  await back.send();
  const want = Array.from({ length: lines }, (_, i) => String(i)).join("\n");
  for (const tab of [page, other]) {
    await waitForLink(tab, "live");
    await until(() => shown(tab, "k", 1)).toBe(want);
    await until(() => cell(tab, "k", 1).getAttribute("data-state")).toBe("ok");
  }
  // Interrupt. The other tab shows it soon; of three times the shortest counts, because the machine may be busy.
  await open(session, "i", "print('begun', flush=True)\nwhile True: pass");
  await windowOf(page, "i").locator(".notebook-editor").first().waitFor();
  let shortest = Number.POSITIVE_INFINITY;
  for (let n = 0; n < 3; n++) {
    await runAll(page, "i");
    for (const tab of [page, other]) {
      await until(async () => {
        const text = await outputs(tab, "i", 1).innerText();
        return text.includes("begun") && !text.includes("KeyboardInterrupt");
      }).toBe(true);
    }
    const seen = outputs(other, "i", 1).getByText("KeyboardInterrupt").first().waitFor();
    const began = performance.now();
    await windowOf(page, "i").getByRole("button", { name: "Interrupt" }).click();
    await seen;
    shortest = Math.min(shortest, performance.now() - began);
    await until(() => windowOf(page, "i").locator("[data-kernel]").getAttribute("data-kernel")).toBe("idle");
  }
  expect(shortest, "milliseconds until the other tab shows that the code was interrupted").toBeLessThan(1000);
  const saving = page.waitForEvent("download");
  await windowOf(page, "i").getByRole("link", { name: "Download as .ipynb" }).click();
  const file = await (await saving).path();
  expect(await python("import nbformat, sys; n = nbformat.read(sys.argv[1], 4); nbformat.validate(n); print(n.cells[0].outputs[-1].ename)", file)).toBe("KeyboardInterrupt");
});

it("a new notebook opens from the palette, lists its variables, and a file that was opened offers to run its cells again", async () => {
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

  await page.locator("main[data-region=canvas] .win-canvas").click({ button: "right", position: { x: 4, y: 4 } });
  await page.getByRole("menuitem", { name: "New notebook" }).click();
  await windowOf(page, "notebook-2").locator(".cm-content").waitFor();
});

it("code asks in the desktop, clears its output and updates what it displayed, and the launcher opens notebooks", async () => {
  const session = await desktop.hub.rest.newSession("asks");
  const [page, other] = [await desktop.tab({ session }), await desktop.tab({ session })];
  await open(
    session,
    "q",
    "name = input('who? ')\nprint('hello', name)",
    "from IPython.display import clear_output, display\nprint('gone')\nclear_output()\nd = display('before', display_id=True)\nd.update('after')",
  );
  await windowOf(page, "q").locator(".notebook-editor").first().waitFor();
  await runAll(page, "q");
  await questionCard(page).getByText("who?").waitFor();
  await questionCard(page).getByRole("textbox").fill("bob");
  const submit = questionCard(page).getByRole("button", { name: "Answer" });
  await waitUntilArmed(submit);
  await submit.click();
  for (const tab of [page, other]) {
    await until(() => shown(tab, "q", 1)).toBe("hello bob");
    await until(() => shown(tab, "q", 2)).toBe("'after'");
  }
  await page.keyboard.press("Alt+a");
  await page.getByRole("dialog", { name: "Apps and templates" }).getByRole("button", { name: "New notebook" }).click();
  await windowOf(page, "notebook-1").locator(".cm-content").waitFor();
});

/** Whether all of an element is in the visible part of a notebook. */
async function isInView(page: Page, id: string, element: Locator): Promise<boolean> {
  const [own, box] = await Promise.all([element.boundingBox(), windowOf(page, id).locator(".notebook-cells").boundingBox()]);
  return own !== null && box !== null && own.y >= box.y && own.y + own.height <= box.y + box.height + 1;
}

const csv = "date,shop,amount\n2026-01-05,north,320\n2026-02-02,north,380\n2026-01-19,south,410\n2026-03-28,south,610.5\n";

/** Runs Python with a script and arguments, and returns what it prints. */
async function python(script: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("/usr/bin/python3", ["-c", script, ...args]);
  return stdout.trim();
}

it("a CSV is plotted from the command bar in both tabs, its code is edited and survives a killed hub, and Jupyter opens the file", async () => {
  const session = await desktop.hub.rest.newSession("plot");
  const [page, other] = [await desktop.tab({ session }), await desktop.tab({ session, prefs: { language: "ko", theme: "light" } })];
  await page.locator(".dock-bar input[type=file]").setInputFiles({ name: "sales.csv", mimeType: "text/csv", buffer: Buffer.from(csv) });
  await until(() => commandBar(page).inputValue()).toContain("[file: sales.csv]");
  await commandBar(page).focus();
  await page.keyboard.press("Home");
  await page.keyboard.type("Plot the monthly sums of this CSV ");
  await page.keyboard.press("Enter");
  // No code runs before it is allowed.
  const allow = questionCard(page).getByRole("button", { name: /^(approve|run)/i });
  await waitUntilArmed(allow);
  expect(await questionCard(page).innerText()).toMatch(/^f = open\("sales.csv".*\n\s*import collections/m);
  await allow.click();
  const code = (tab: Page): Locator => windowOf(tab, "sums-1").locator("[data-cell]").nth(1);
  const result = (tab: Page): Locator => code(tab).locator("[data-outputs]");
  for (const tab of [page, other]) {
    await until(() => result(tab).locator('[data-stream="stdout"]').innerText()).toBe("2026-01 730\n2026-02 380\n2026-03 610.5\n");
    const picture = result(tab).locator("img");
    expect(await picture.getAttribute("src")).toMatch(/^data:image\/png;base64,/);
    await until(() => picture.evaluate((i: HTMLImageElement) => i.naturalWidth)).toBeGreaterThan(300);
    // The code is longer than the window, but the plot is in view.
    await until(() => isInView(tab, "sums-1", picture)).toBe(true);
    await until(() => code(tab).locator(".cm-content").innerText()).toContain("matplotlib");
    expect(await findViolations(tab)).toEqual([]);
  }
  await waitForRow(page, "shows the sums and the plot");

  // Edited and run with the keyboard; the hub is killed while it runs.
  await code(page).locator(".cm-content").focus();
  await page.keyboard.press("Control+End");
  const killed = newSignal("edited-cell");
  await page.keyboard.insertText(`\nfor i in range(60):\n    print("line", i, flush=True)\n    if i == 30:\n        ${killed.waits}\nplt.plot(months, range(len(months)))\nplt.show()`);
  await page.keyboard.press("Shift+Enter");
  await until(() => result(other).innerText()).toContain("line 3\n");
  // Typing in the notebook ends that it scrolls by itself.
  await page.keyboard.press("Control+Home");
  desktop.guard.expectLostHub();
  await desktop.hub.kill();
  await killed.send();
  await desktop.hub.up();
  const lines = Array.from({ length: 60 }, (_, i) => `line ${String(i)}`).join("\n");
  for (const tab of [page, other]) {
    await waitForLink(tab, "live");
    await until(() => code(tab).getAttribute("data-state")).toBe("ok");
    await until(async () => (await result(tab).locator('[data-stream="stdout"]').allInnerTexts()).join("")).toContain(lines);
    await until(() => result(tab).locator("img").count()).toBe(2);
  }
  await until(() => isInView(page, "sums-1", code(page).locator(".cm-line").first())).toBe(true); // the line with the cursor

  // Every control is reached with Tab; Escape leaves the editor, and Tab goes on behind it.
  await code(page).locator(".cm-content").focus();
  await page.keyboard.press("Escape");
  const reached = new Set<string>();
  for (let n = 0; n < 12; n++) {
    reached.add(await page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.getAttribute("data-stream") ?? document.activeElement?.textContent ?? ""));
    await page.keyboard.press("Tab");
  }
  expect([...reached]).toEqual(expect.arrayContaining(["Run this cell (Shift+Enter)", "Delete this cell", "stdout", "Add code", "Add text"]));

  // The file opens in Jupyter, and has the plots and the code.
  const saving = page.waitForEvent("download");
  await windowOf(page, "sums-1").getByRole("link", { name: "Download as .ipynb" }).click();
  const file = await (await saving).path();
  expect(await python("import nbformat, sys; n = nbformat.read(sys.argv[1], 4); nbformat.validate(n); print(n.nbformat, n.nbformat_minor, [c.cell_type for c in n.cells])", file)).toBe("4 5 ['markdown', 'code']");
  const server = JSON.parse(await readFile(join(dir, "agents", "jupyter", "server.json"), "utf8")) as { port: number; token: string };
  const contents = `http://127.0.0.1:${String(server.port)}/api/contents/plot.ipynb`;
  const headers = { Authorization: `token ${server.token}` };
  const put = await fetch(contents, { method: "PUT", headers, body: JSON.stringify({ type: "notebook", format: "json", content: JSON.parse(await readFile(file, "utf8")) }) });
  expect(put.status).toBe(201);
  const opened = (await (await fetch(`${contents}?content=1`, { headers })).json()) as { message?: string; content: { cells: { source: string; outputs?: { data?: Record<string, string> }[] }[] } };
  expect(opened.message ?? "").toBe("");
  expect(opened.content.cells[1]!.source).toContain("plt.show()");
  expect(opened.content.cells[1]!.outputs!.filter((o) => o.data?.["image/png"] !== undefined)).toHaveLength(2);
});

/** Presses Tab, or Shift+Tab, until a control of the notebook has the focus. */
async function tabTo(page: Page, selector: string, back = false): Promise<void> {
  for (let n = 0; n < 60; n++) {
    if (await page.evaluate((s) => document.activeElement?.matches(s) ?? false, selector)) return;
    // Tab indents in an editor, and Escape leaves it.
    const inEditor = await page.evaluate(() => document.activeElement?.matches("[data-editor]") ?? false);
    await page.keyboard.press(inEditor ? "Escape" : back ? "Shift+Tab" : "Tab");
  }
  throw new Error(`${selector} cannot be reached with Tab`);
}

it("a notebook is written, run, interrupted, restarted, changed and downloaded with the keyboard only", async () => {
  desktop.guard.expect(/style-src/);
  const session = await desktop.hub.rest.newSession("keys");
  const page = await desktop.tab({ session });
  const { keyboard } = page;
  page.mouse.click = () => Promise.reject(new Error("there is no mouse"));
  const inWindow = 'section[data-window-id="notebook-1"]';
  const w = windowOf(page, "notebook-1");
  const focused = (): Promise<string> => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? "");
  const focusedCell = (): Promise<string | null> => page.evaluate(() => document.activeElement?.closest("[data-cell]")?.getAttribute("data-cell") ?? null);
  const press = async (selector: string, back = false, key = "Enter"): Promise<void> => {
    await tabTo(page, `${inWindow} ${selector}`, back);
    await keyboard.press(key);
  };

  await keyboard.press("Control+k");
  await page.locator("dialog[open]").waitFor();
  await keyboard.type("new notebook");
  await keyboard.press("Enter");
  await w.locator(".cm-content").waitFor();
  await press(".notebook-editor");
  await keyboard.press("Control+a");
  await keyboard.type("answer = 6 * 7");
  await keyboard.press("Shift+Enter");
  await until(() => w.locator("[data-cell]").first().getAttribute("data-state")).toBe("ok");
  await keyboard.press("Escape"); // leaves the editor
  await press(".notebook-add button", false, "Space");
  await until(() => w.locator(".cm-content").count()).toBe(2);
  await tabTo(page, `${inWindow} [data-cell]:nth-of-type(2) .notebook-editor`, true);
  await keyboard.type("print('begun', flush=True)");
  await keyboard.press("Enter");
  await keyboard.type("while True: pass");
  await keyboard.press("Escape");
  await press(".notebook-bar .button", true); // the last one before the cells is "Restart kernel"
  await until(() => w.getByRole("button", { name: "Restart? Variables are lost." }).count()).toBe(1);
  expect(await findViolations(page)).toEqual([]);
  await keyboard.press("Shift+Tab"); // leaves the question
  await until(() => w.getByRole("button", { name: "Restart kernel" }).count()).toBe(1);
  expect(await focused()).toBe("Interrupt");
  await keyboard.press("Shift+Tab");
  expect(await focused()).toBe("Run all");
  await keyboard.press("Enter");
  await until(() => w.locator("[data-outputs]").innerText()).toContain("begun");
  expect(await findViolations(page)).toEqual([]);
  await keyboard.press("Tab");
  expect(await focused()).toBe("Interrupt");
  await keyboard.press("Space");
  await until(() => w.locator("[data-outputs]").innerText()).toContain("KeyboardInterrupt");
  await until(() => w.locator("[data-kernel]").getAttribute("data-kernel")).toBe("idle");
  await press(".notebook-variables summary");
  await until(() => w.locator(".notebook-variables tbody tr").innerText()).toBe("answer\tint\t42");
  await press(".notebook-bar .button", true);
  await keyboard.press("Enter");
  await until(() => w.locator(".notebook-variables").count()).toBe(0);
  await until(() => w.locator("[data-kernel]").getAttribute("data-kernel")).toBe("idle");

  // The focus stays with the cell that moves, and goes to its neighbour when it is deleted.
  const ids = (): Promise<(string | null)[]> => w.locator("[data-cell]").evaluateAll((all) => all.map((c) => c.getAttribute("data-cell")));
  const [first, second] = await ids();
  await press(`[data-cell="${second!}"] button[aria-label="Move up"]`);
  await until(ids).toEqual([second, first]);
  expect([await focused(), await focusedCell()]).toEqual(["Move up", second]);
  await press(`[data-cell="${second!}"] button[aria-label="Move down"]`);
  await until(ids).toEqual([first, second]);
  expect([await focused(), await focusedCell()]).toEqual(["Move down", second]);
  await press(`[data-cell="${second!}"] button[aria-label="Delete this cell"]`);
  await until(ids).toEqual([first]);
  expect([await focused(), await focusedCell()]).toEqual(["Delete this cell", first]);

  await tabTo(page, `${inWindow} .notebook-bar a[download]`, true);
  const saving = page.waitForEvent("download");
  await keyboard.press("Enter");
  expect((await saving).suggestedFilename()).toBe("notebook-1.ipynb");
});

it("a checkpoint that is restored brings its outputs back, with a warning and a way to run the cells again", async () => {
  desktop.guard.expect(/style-src/);
  const session = await desktop.hub.rest.newSession("restored");
  const page = await desktop.tab({ session });
  await open(session, "r", "x = 6\nprint(x * 7)", "1/0");
  const w = windowOf(page, "r");
  await w.locator(".notebook-editor").first().waitFor();
  await runAll(page, "r");
  await until(() => cell(page, "r", 2).getAttribute("data-state")).toBe("error");
  await until(() => w.locator("[data-kernel]").getAttribute("data-kernel")).toBe("idle");
  await w.getByText("These outputs are from before").waitFor({ state: "detached" });

  // A tool that changes files makes a checkpoint. Task agents have such tools, the main agent has not.
  await commandBar(page).fill('/task code Do it; /call storage:write {"path":"a.txt","content":"one"}');
  await commandBar(page).press("Enter");
  interface Checkpoints {
    checkpoints: { hash: string; reason: string }[];
  }
  let hash = "";
  await until(async () => {
    const { checkpoints } = (await desktop.hub.rest.request("GET", `/api/sessions/${session}/checkpoints`)) as Checkpoints;
    return (hash = checkpoints.find((c) => c.reason === "tool")?.hash ?? "");
  }).not.toBe("");
  for (const n of [1, 2]) {
    await cell(page, "r", n).locator(".cm-content").focus();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("edited = 1");
  }
  await until(async () => (await notebookOf(session, "r")).cells.map((c) => c.source)).toEqual(["edited = 1", "edited = 1"]);
  await until(async () => ((await desktop.hub.rest.snapshot(session)).agents ?? []).filter((a) => a.status !== "idle").length).toBe(0);
  await desktop.hub.rest.request("POST", `/api/sessions/${session}/checkpoints/restore`, { hash });
  await until(async () => (await notebookOf(session, "r")).cells.map((c) => c.source)).toEqual(["x = 6\nprint(x * 7)", "1/0"]);
  await w.getByText("These outputs are from before").waitFor();
  await w.getByRole("button", { name: "Run all again" }).click();
  await w.getByText("These outputs are from before").waitFor({ state: "detached" });
  await until(() => shown(page, "r", 1)).toBe("42");
  await until(() => cell(page, "r", 2).getAttribute("data-state")).toBe("error");

  // Cells that only failed have outputs from before, too.
  const failed: Cell = { id: "c1", kind: "code", source: "1/0", state: "error", outputs: [{ type: "error", name: "ZeroDivisionError", value: "division by zero" }] };
  await desktop.hub.rest.runActions(session, [
    { type: "window.create", windowId: "f", title: "Failed", bounds: { x: 80, y: 80, w: 600, h: 400 }, content: { renderer: "notebook", data: { cells: [failed] } } },
  ]);
  await windowOf(page, "f").getByText("These outputs are from before").waitFor();
});
