// The example page with CopilotKit's own chat (web/examples/copilotkit), on an origin of its own. `make test-agui` installs
// CopilotKit and builds the page; COPILOTKIT_PAGE is its folder.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const types: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const site = createServer(async (request, response) => {
  const name = new URL(request.url ?? "", "http://site").pathname;
  const body = await readFile(join(process.env.COPILOTKIT_PAGE ?? "", name === "/" ? "index.html" : name)).catch(() => undefined);
  response.writeHead(body ? 200 : 404, { "content-type": types[name === "/" ? ".html" : extname(name)] ?? "application/octet-stream" }).end(body);
});
await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
afterAll(() => new Promise((done) => site.close(done)));
const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;

const desktop = desktopFixture({ flags: ["--origins", origin] });
const words = (n: number) => Array.from({ length: n }, (_, i) => `w${i + 1}`).join(" ");

async function open(thread: string): Promise<Page> {
  const page = await (await desktop.profile()).newPage();
  const token = new URL(desktop.hub.entry).searchParams.get("token") ?? "";
  await page.goto(`${origin}/?${new URLSearchParams({ hub: desktop.hub.url, thread })}#${new URLSearchParams({ token })}`);
  await page.locator("textarea").waitFor();
  return page;
}

async function say(page: Page, text: string): Promise<void> {
  await page.locator("textarea").fill(text);
  await page.locator("textarea").press("Enter");
}

/** How often a text is on the page. */
const count = (page: Page, text: string) => page.locator("body").innerText().then((all) => all.replace(/\s+/g, " ").split(text).length - 1);

it("CopilotKit's chat shows an answer once although the hub is killed in the middle, calls tools of its page, and shows the conversation after a reload", async () => {
  desktop.guard.expectLostHub();
  desktop.guard.allowOrigin(origin);
  // The client library rejects a promise without a reason when its connection is lost.
  desktop.guard.expect(/^error: $/, /^console: .*(CopilotKit|Failed to fetch|network error)/i);
  const page = await open("kit");
  await say(page, "/stream 1500 200");
  await until(() => count(page, " w40 ")).toBe(1);
  await desktop.hub.kill();
  await desktop.hub.up();
  await until(() => count(page, words(1500))).toBe(1);
  expect(await count(page, " w40 "), "pieces of the answer").toBe(1);
  await say(page, '/call client:set_background {"colour":"rgb(1, 2, 3)"}\n/say Painted.');
  await until(() => count(page, "Painted. ")).toBeGreaterThan(0);
  expect(await page.evaluate(() => document.body.style.background)).toBe("rgb(1, 2, 3)");
  await page.reload();
  await until(() => count(page, words(1500))).toBe(1);
});
