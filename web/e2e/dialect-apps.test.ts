// Apps in the frames of a desktop of the desktop dialect, which shows /api/apps/APP/index.html and exchanges messages of the
// app protocol with it. The page here does what such a desktop does, without its looks.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

const foreignDesktop = `<!doctype html><title>desktop</title>
<div data-window-id="w1"><iframe src="/api/apps/todo/index.html?sessionId=s" width="400" height="300"></iframe></div>
<script>
  const frame = document.querySelector("iframe");
  window.seen = [];
  addEventListener("message", (e) => { if (e.source === frame.contentWindow) window.seen.push(e.data); });
  let last = 0;
  window.ask = (request) => new Promise((resolve) => {
    const requestId = "req-" + ++last;
    addEventListener("message", function answer(e) {
      if (e.data?.requestId !== requestId) return;
      removeEventListener("message", answer);
      resolve(e.data);
    });
    frame.contentWindow.postMessage({ ...request, requestId }, "*");
  });
</script>`;

interface Answer {
  type: string;
  manifest?: { appId: string; commands: object };
  data?: { text: string }[];
  result?: unknown;
  imageData?: string;
  error?: string;
}

interface Foreign {
  seen: object[];
  ask: (request: object) => Promise<Answer>;
}

const ask = (page: Page, request: object): Promise<Answer> => page.evaluate((r) => (window as unknown as Foreign).ask(r), request);

async function open(page: Page): Promise<void> {
  await page.goto(`${desktop.hub.url}/dialect-desktop`);
  await until(() => page.evaluate(() => JSON.stringify((window as unknown as Foreign).seen))).toContain("yaar:app-ready");
}

it("an app in a frame of a desktop of the desktop dialect answers agents and keeps its data", { timeout: 120_000 }, async () => {
  const profile = await desktop.profile();
  await desktop.signIn(profile);
  const installed = await profile.request.put(`${desktop.hub.url}/api/apps/todo`, { headers: { origin: desktop.hub.url } });
  expect(installed.status(), await installed.text()).toBeLessThan(300);
  await profile.route("**/dialect-desktop", (r) => r.fulfill({ contentType: "text/html", body: foreignDesktop }));
  const page = await profile.newPage();
  await open(page);

  const about = await ask(page, { type: "yaar:app-manifest-request" });
  expect(about).toMatchObject({ type: "yaar:app-manifest-response", manifest: { appId: "todo", commands: { add: {} } } });
  const added = await ask(page, { type: "yaar:app-command-request", command: "add", params: { text: "Buy milk" } });
  expect(added.error).toBeUndefined();
  await page.frameLocator("iframe").getByRole("checkbox", { name: "Done: Buy milk" }).waitFor();
  expect((await ask(page, { type: "yaar:app-command-request", command: "drop" })).error).toContain("drop");
  expect((await ask(page, { type: "yaar:capture-request" })).imageData?.length ?? 0, "length of the picture").toBeGreaterThan(100);

  // What the app has stored is there when its page is loaded again, and in the tabs of the hub's own desktop.
  await open(page);
  await page.frameLocator("iframe").getByRole("checkbox", { name: "Done: Buy milk" }).waitFor();
  expect((await ask(page, { type: "yaar:app-query-request", stateKey: "items" })).data?.map((i) => i.text)).toEqual(["Buy milk"]);

  // The page has no origin: it reads nothing of the hub but the data of its app.
  const outside = await page.frames()[1]!.evaluate(async () => {
    const read = (path: string): Promise<string> => fetch(path).then((r) => `${r.status}`, () => "blocked");
    return { sessions: await read("/api/sessions"), apps: await read("/api/apps"), origin: origin, parent: (() => { try { return String(parent.document.title); } catch { return "refused"; } })() };
  });
  expect(outside).toEqual({ sessions: "blocked", apps: "blocked", origin: "null", parent: "refused" });
  desktop.guard.expect(/policy|CSP|Content Security Policy|Connection-Allowlist|Failed to fetch/i);
});
