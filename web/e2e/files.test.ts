// Files of a session in the browser: dropping, the Files window, links in answers, editing beside an agent, hostile files.

import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { showWindow } from "./harness/content.js";
import { commandBar, sendMessage, until, waitForRow, windowOf } from "./harness/desktop-page.js";
import { dropFiles, storedFile } from "./harness/files.js";
import { desktopFixture, ready } from "./harness/fixture.js";

const desktop = desktopFixture();

/** Lets an agent use a tool that writes. */
async function agentCalls(session: SessionID, tool: string, input: object): Promise<void> {
  await desktop.hub.rest.sendMessage(session, `/task code Do it; /call ${tool} ${JSON.stringify(input)}`);
}

const stored = (session: SessionID, path: string): Promise<string> => storedFile(desktop.hub, session, path);

async function put(session: SessionID, path: string, body: string | Uint8Array<ArrayBuffer>): Promise<void> {
  const r = await fetch(`${desktop.hub.url}/api/sessions/${session}/files/${path.split("/").map(encodeURIComponent).join("/")}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${new URL(desktop.hub.entry).searchParams.get("token")}`, "content-type": "application/octet-stream" },
    body,
  });
  expect(r.status, `PUT ${path}`).toBe(201);
}

/** Opens a file from the Files window. */
async function openFile(page: Page, name: string): Promise<void> {
  if ((await page.locator("[data-files-folder]").count()) === 0) await page.locator("[data-files-icon]").click();
  // Another window may cover it.
  await page.locator(`[data-entry="${escapeSelector(name)}"] .files-name`).evaluate((e) => (e as HTMLElement).click());
}

const escapeSelector = (s: string): string => s.replaceAll(/["\\]/g, "\\$&");

it("a dropped CSV file is a table in both tabs, an agent can read it, and its name in the answer opens it", async () => {
  const session = await desktop.hub.rest.newSession("csv");
  const [page, other] = [await desktop.tab({ session }), await desktop.tab({ session })];
  await dropFiles(page, ".win-canvas", [{ name: "sales.csv", text: 'name,sum\n"Kim, A",30\nLee,4\nPark,200\n' }]);
  await page.locator('[data-upload="done"]').waitFor();
  expect(await stored(session, "sales.csv")).toContain("Park,200");

  await other.locator("[data-files-icon]").click();
  await other.locator('[data-entry="sales.csv"]').waitFor();
  await agentCalls(session, "storage:read", { path: "sales.csv" });
  await sendMessage(page, "/say The numbers are in sales.csv.");
  await waitForRow(page, "The numbers are in sales.csv.");
  await page.locator(".drawer, [data-region=drawer]").locator('a:has-text("sales.csv")').last().click();
  for (const tab of [page, other]) {
    const table = tab.locator('[data-file="sales.csv"] table');
    await until(() => table.locator("tbody tr").count()).toBe(3);
    expect(await table.locator("tbody tr").first().innerText()).toContain("Kim, A");
  }
  const sum = page.locator('[data-file="sales.csv"] th button').nth(1);
  await sum.click();
  await until(() => page.locator('[data-file="sales.csv"] tbody tr').first().innerText()).toContain("Lee");
  await sum.click();
  await until(() => page.locator('[data-file="sales.csv"] tbody tr').first().innerText()).toContain("Park");
});

it("any file can be attached to a message, which then names it", async () => {
  const session = await desktop.hub.rest.newSession("attach");
  const page = await desktop.tab({ session });
  await dropFiles(page, ".dock-bar", [{ name: "notes.txt", text: "hello" }]);
  await until(() => commandBar(page).inputValue()).toContain("[file: notes.txt]");
  expect(await stored(session, "notes.txt")).toBe("hello");
});

it("files, pictures and texts are pasted on the desktop, and files into the command bar", async () => {
  const session = await desktop.hub.rest.newSession("paste");
  const page = await desktop.tab({ session });
  await pasteOn(page, "[data-command-bar]", { name: "bar.csv", text: "a,b\n1,2\n" });
  await until(() => commandBar(page).inputValue()).toContain("[file: bar.csv]");
  expect(await stored(session, "bar.csv")).toBe("a,b\n1,2\n");
  await commandBar(page).fill("");

  const canvas = "main[data-region=canvas]";
  await page.locator(canvas).focus();
  await pasteOn(page, canvas, { name: "canvas.csv", text: "c,d\n3,4\n" });
  await page.locator('[data-upload="done"]').getByText("canvas.csv").waitFor();
  expect(await stored(session, "canvas.csv")).toBe("c,d\n3,4\n");
  expect(await commandBar(page).inputValue(), "the draft after a file was pasted on the desktop").toBe("");

  await page.locator(canvas).focus();
  await pasteOn(page, canvas, "a pasted text");
  await until(() => commandBar(page).inputValue()).toBe("a pasted text");

  await page.locator(canvas).focus();
  await pasteOn(page, canvas, { name: "dot.png" });
  await page.getByRole("button", { name: "Remove dot.png" }).waitFor();
});

/** Pastes a text, or a file on an element: a CSV file with a text, or a small picture. */
async function pasteOn(page: Page, selector: string, what: string | { name: string; text?: string }): Promise<void> {
  await page.locator(selector).evaluate(async (at, pasted) => {
    const data = new DataTransfer();
    if (typeof pasted === "string") data.setData("text/plain", pasted);
    else if (pasted.text !== undefined) data.items.add(new File([pasted.text], pasted.name, { type: "text/csv" }));
    else {
      const canvas = new OffscreenCanvas(8, 8);
      canvas.getContext("2d")!.fillRect(0, 0, 8, 8);
      data.items.add(new File([await canvas.convertToBlob()], pasted.name, { type: "image/png" }));
    }
    at.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: data }));
  }, what);
}

it("a text is edited beside an agent: the editor shows changes, and neither overwrites the other unknowingly", async () => {
  desktop.guard.expect(/412 \(Precondition Failed\)/);
  const session = await desktop.hub.rest.newSession("edit");
  await put(session, "plan.txt", "one\n");
  const [page, other] = [await desktop.tab({ session }), await desktop.tab({ session })];
  await openFile(page, "plan.txt");
  const text = (tab: Page) => tab.locator('[data-file="plan.txt"] .cm-content');
  for (const tab of [page, other]) await until(() => text(tab).innerText()).toContain("one");

  await text(page).click();
  await page.keyboard.type("mine? ");
  await page.keyboard.press("Control+s");
  await until(() => stored(session, "plan.txt")).toContain("mine?");
  await until(() => text(other).innerText()).toContain("mine?");

  // Both change it: the agent while this page has unsaved text.
  await text(page).click();
  await page.keyboard.type("draft ");
  await put(session, "plan.txt", "of the agent\n");
  const conflict = page.locator('[data-file="plan.txt"] .files-conflict');
  await conflict.waitFor();
  await page.keyboard.press("Control+s");
  expect(await stored(session, "plan.txt")).toBe("of the agent\n");
  await until(() => text(other).innerText()).toContain("of the agent");
  await conflict.getByRole("button", { name: "Take the new version" }).click();
  await until(() => text(page).innerText()).toContain("of the agent");
  expect(await conflict.count()).toBe(0);
});

it("files that are dropped before the tray of uploads has loaded are uploaded", async () => {
  const session = await desktop.hub.rest.newSession("early");
  const profile = await desktop.profile();
  await desktop.signIn(profile);
  const page = await profile.newPage();
  let dropped = (): void => undefined;
  const drops = new Promise<void>((done) => (dropped = done));
  await page.route(/\/panels-[^/]*\.js/, async (route) => {
    await drops;
    await route.continue();
  });
  await page.goto(desktop.address(session));
  await ready(page);
  await dropFiles(page, ".win-canvas", [{ name: "early.txt", text: "early" }]);
  dropped();
  await page.locator('[data-upload="done"]').waitFor();
  expect(await stored(session, "early.txt")).toBe("early");
});

it("files are renamed, deleted and restored, and the other tab follows", async () => {
  const session = await desktop.hub.rest.newSession("manage");
  await put(session, "a.md", "# Title\n\ntext");
  const [page, other] = [await desktop.tab({ session }), await desktop.tab({ session })];
  for (const tab of [page, other]) await tab.locator("[data-files-icon]").waitFor();
  await page.locator("[data-files-icon]").click();
  await other.locator('[data-entry="a.md"]').waitFor();
  await page.locator('[data-entry="a.md"] .files-name').focus();
  await page.keyboard.press("F2");
  await page.locator(".files-rename input").fill("reports/b.md");
  await page.keyboard.press("Enter");
  await other.locator('[data-entry="reports"]').waitFor();
  await other.locator('[data-entry="reports"] .files-name').click();
  await other.locator('[data-entry="reports/b.md"] .files-name').click();
  await until(() => other.locator('[data-file="reports/b.md"] h1').innerText()).toBe("Title");

  await page.locator('[data-entry="reports"] .files-name').focus();
  await page.keyboard.press("Delete");
  await until(() => page.locator("[data-entry]").count()).toBe(0);
  expect(await stored(session, "reports/b.md")).toBe("HTTP 404");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.locator('[data-entry="reports"]').waitFor();
  expect(await stored(session, "reports/b.md")).toBe("# Title\n\ntext");
});

it("a large file arrives although the hub is killed in the middle of the upload", async () => {
  const session = await desktop.hub.rest.newSession("cut");
  const page = await desktop.tab({ session });
  const size = 6 << 20;
  // The third piece waits until the hub was killed and started again.
  let pieces = 0;
  await page.route("**/uploads/*", async (route) => {
    if (route.request().method() === "PATCH" && ++pieces === 3) {
      await page.locator("[data-upload]").waitFor(); // the page has loaded the part that shows it
      await desktop.hub.kill();
      await route.continue().catch(() => undefined);
      await desktop.hub.up();
      return;
    }
    await route.continue();
  });
  desktop.guard.expectLostHub();
  await page.locator(".win-canvas").evaluate((at, n) => {
    const bytes = new Uint8Array(n);
    for (let i = 0; i < n; i++) bytes[i] = (i * 7 + (i >> 12)) & 255;
    const data = new DataTransfer();
    data.items.add(new File([bytes], "big.bin", { lastModified: 1 }));
    at.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));
  }, size);
  await page.locator('[data-upload="done"]').waitFor();
  const r = await fetch(`${desktop.hub.url}/api/sessions/${session}/files/big.bin`, {
    headers: { authorization: `Bearer ${new URL(desktop.hub.entry).searchParams.get("token")}` },
  });
  const got = new Uint8Array(await r.arrayBuffer());
  expect(got.length).toBe(size);
  expect(got.every((b, i) => b === ((i * 7 + (i >> 12)) & 255))).toBe(true);
  expect(pieces).toBeGreaterThanOrEqual(6);
});

/** A second of silence as a WAV file. */
function silence(): Uint8Array<ArrayBuffer> {
  const rate = 8000;
  const data = new DataView(new ArrayBuffer(44 + rate));
  for (const [at, text] of [[0, "RIFF"], [8, "WAVE"], [12, "fmt "], [36, "data"]] as const) [...text].forEach((c, i) => data.setUint8(at + i, c.charCodeAt(0)));
  data.setUint32(4, 36 + rate, true);
  data.setUint32(16, 16, true);
  data.setUint16(20, 1, true); // PCM
  data.setUint16(22, 1, true); // one channel
  data.setUint32(24, rate, true);
  data.setUint32(28, rate, true);
  data.setUint16(32, 1, true);
  data.setUint16(34, 8, true); // bits
  data.setUint32(40, rate, true);
  new Uint8Array(data.buffer).fill(128, 44);
  return new Uint8Array(data.buffer);
}

/** A short film, recorded by the browser. */
async function recorded(page: Page): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await page.evaluate(async () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [64, 48];
    const draw = canvas.getContext("2d")!;
    const recorder = new MediaRecorder(canvas.captureStream(10), { mimeType: "video/webm" });
    const pieces: Blob[] = [];
    const over = new Promise((done) => recorder.addEventListener("stop", done));
    const full = new Promise<void>((done) =>
      recorder.addEventListener("dataavailable", (e) => {
        pieces.push(e.data);
        if (e.data.size > 0) done();
      }),
    );
    recorder.start(50);
    let n = 0;
    const timer = setInterval(() => {
      draw.fillStyle = n++ % 2 === 0 ? "red" : "blue";
      draw.fillRect(0, 0, 64, 48);
    }, 20);
    await full;
    recorder.stop();
    await over;
    clearInterval(timer);
    return [...new Uint8Array(await new Blob(pieces).arrayBuffer())];
  });
  return Uint8Array.from(bytes);
}

it("PDF, sound and film are opened", async () => {
  const session = await desktop.hub.rest.newSession("media");
  const page = await desktop.tab({ session });
  await put(session, "paper.pdf", new Uint8Array(await readFile(new URL("harness/paper.pdf", import.meta.url))));
  await put(session, "sound.wav", silence());
  await put(session, "film.webm", await recorded(page));
  await openFile(page, "paper.pdf");
  await page.locator('[data-file="paper.pdf"] [data-pdf="drawn"]').waitFor();
  await openFile(page, "sound.wav");
  await until(() => page.locator('[data-file="sound.wav"] audio').evaluate((a) => (a as HTMLAudioElement).duration)).toBe(1);
  await openFile(page, "film.webm");
  await until(() => page.locator('[data-file="film.webm"] video').evaluate((v) => (v as HTMLVideoElement).videoWidth)).toBe(64);
});

it("hostile names and contents stay harmless", async () => {
  desktop.guard.expect(/413 \(/, /SecurityError: .*Blocked a frame with origin "null"/, /policy: |Content Security Policy|apps-origin|Blocked script execution/);
  const session = await desktop.hub.rest.newSession("hostile");
  const run = "parent.pwned = top.pwned = window.pwned = 1";
  const names = ["<img src=x onerror=pwned=1>.md", "‮gpj.exe.txt", '"><script>pwned=1<\u200b.csv', "a&b#c?d%2e.txt"];
  for (const name of names) await put(session, name, `<img src=x onerror="${run}"><script>${run}</script>\n[x](javascript:pwned=1)`);
  await put(session, "page.html", `<script>${run}; try { fetch("/api/me") } catch {}</script><p>page</p>`);
  await put(session, "vector.svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="${run}"><script>${run}</script><text y="20">vector</text></svg>`);
  await put(session, "book.ipynb", JSON.stringify({ cells: [{ cell_type: "markdown", source: [`<script>${run}</script># Head`] }, { cell_type: "code", source: "1+1", outputs: [{ data: { "text/html": `<script>${run}</script>`, "text/plain": "two" } }] }] }));
  await put(session, "bomb.zip", new Uint8Array(64).fill(80));
  await put(session, "zeros.txt", new Uint8Array(3 << 20));
  const page = await desktop.tab({ session });
  for (const name of [...names, "page.html", "vector.svg", "book.ipynb", "bomb.zip", "zeros.txt"]) {
    await openFile(page, name);
    await page.locator(".win [data-content-state=ready], .win [data-content-state=failed], .win .cm-content, .win table").last().waitFor();
  }
  await until(() => page.locator('[data-file="book.ipynb"] .files-output').innerText()).toContain("two");
  expect(await page.evaluate(() => "pwned" in window)).toBe(false);
  // The URL of a file, opened as a page, cannot run either.
  for (const name of ["page.html", "vector.svg"]) {
    const r = await fetch(`${desktop.hub.url}/api/sessions/${session}/files/${name}`, {
      headers: { authorization: `Bearer ${new URL(desktop.hub.entry).searchParams.get("token")}` },
    });
    expect(r.headers.get("content-disposition"), name).toMatch(/^attachment/);
    expect(r.headers.get("content-security-policy"), name).toMatch(/^sandbox;/);
  }
  // 2 GB are refused before a byte is sent.
  await page.locator(".win-canvas").evaluate((at) => {
    const sparse = new File(["x"], "sparse.bin");
    Object.defineProperty(sparse, "size", { value: 2 * 2 ** 30 });
    const data = new DataTransfer();
    data.items.add(sparse);
    const e = new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data });
    Object.defineProperty(e.dataTransfer, "files", { value: [sparse] });
    at.dispatchEvent(e);
  });
  await until(() => page.locator('[data-upload="failed"]').innerText()).toContain("too large");
});

it("a notebook file opens as a notebook, in both tabs", async () => {
  desktop.guard.expect(/4\d\d \(/);
  const session = await desktop.hub.rest.newSession("as notebook");
  const [page, other] = [await desktop.tab({ session }), await desktop.tab({ session })];
  const cells = [{ cell_type: "markdown", source: ["# Head"] }, { cell_type: "code", source: "1+1", outputs: [] }];
  await put(session, "book.ipynb", JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 4 }));
  await put(session, "broken.ipynb", "{");
  await openFile(page, "book.ipynb");
  await page.locator('[data-file="book.ipynb"]').getByRole("button", { name: "Open as notebook" }).click();
  for (const tab of [page, other]) {
    const notebook = tab.locator('[data-window-id="notebook-1"]');
    await notebook.getByRole("heading", { name: "Head" }).waitFor();
    await until(() => notebook.locator(".cm-content").allInnerTexts().then((all) => all.join())).toContain("1+1");
  }
  await openFile(page, "broken.ipynb");
  await page.locator('[data-file="broken.ipynb"]').getByRole("button", { name: "Open as notebook" }).evaluate((e) => (e as HTMLElement).click());
  await page.locator('[data-file="broken.ipynb"]').getByRole("alert").first().waitFor();
  expect(await page.locator('[data-window-id="notebook-2"]').count(), "notebooks of a broken file").toBe(0);
});

it("pages in windows get no events while files are dragged over the desktop, so that they can be dropped there", async () => {
  const session = await desktop.hub.rest.newSession("frames");
  const page = await desktop.tab({ session });
  await showWindow(desktop.hub, session, page, "page", { renderer: "html", data: "<p>Hello</p>" });
  const frame = windowOf(page, "page").locator("iframe");
  await frame.waitFor();
  const events = (): Promise<string> => frame.evaluate((e) => getComputedStyle(e).pointerEvents);
  expect(await events(), "before the drag").toBe("auto");
  const during = await frame.evaluate((e) => {
    const data = new DataTransfer();
    data.items.add(new File(["a"], "a.txt"));
    document.body.dispatchEvent(new DragEvent("dragenter", { bubbles: true, cancelable: true, dataTransfer: data }));
    return getComputedStyle(e).pointerEvents;
  });
  expect(during, "during the drag").toBe("none");
  await until(events).toBe("auto"); // a drag that sends no events any more has ended
});
