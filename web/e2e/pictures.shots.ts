// The pictures of the documentation: npm run shots writes them to docs/img.

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, it } from "vitest";
import { furnish } from "./harness/scenery.js";
import { stage } from "./harness/stage.js";
import { ask, say, until, waitForRow, windowOf } from "./harness/verbs.js";

const desk = stage();
const folder = fileURLToPath(new URL("../../docs/img", import.meta.url));
const large: BrowserContextOptions = { viewport: { width: 1440, height: 900 }, deviceScaleFactor: 1 };
const korean: BrowserContextOptions = { ...large, locale: "ko-KR" };
const phone: BrowserContextOptions = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

async function shoot(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.fonts.ready);
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, animations: "disabled", caret: "hide" });
  expect((await stat(path)).size, name).toBeLessThan(400_000);
}

/** Waits until the windows of the scene are drawn, the one in the frame too. */
async function drawn(page: Page): Promise<void> {
  await windowOf(page, "rollout").waitFor();
  await windowOf(page, "notes").locator("h1").waitFor();
  await windowOf(page, "chart").frameLocator("iframe").locator("svg").waitFor();
  await until(() => page.locator("[data-row]").count()).toBeGreaterThan(2);
}

it("desktop-dark-en", async () => {
  const session = await furnish(desk.hub, "en", true);
  const page = await desk.tab({ session, prefs: { theme: "dark" }, context: large });
  await drawn(page);
  await page.locator("[data-agent]").first().waitFor();
  await shoot(page, "desktop-dark-en");

  await page.keyboard.press("Control+k");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.type("mon");
  await shoot(page, "palette");
});

it("desktop-light-ko", async () => {
  const session = await furnish(desk.hub, "ko", false);
  const page = await desk.tab({ session, prefs: { theme: "light", language: "ko" }, context: korean });
  await drawn(page);
  await page.locator("[data-agent]").first().waitFor();
  await shoot(page, "desktop-light-ko");
});

it("contrast", async () => {
  const session = await furnish(desk.hub, "en", true);
  const page = await desk.tab({ session, prefs: { theme: "contrast" }, context: large });
  await drawn(page);
  await shoot(page, "desktop-contrast");
});

it("approval", async () => {
  const session = await furnish(desk.hub, "en", true, false);
  const page = await desk.tab({ session, prefs: { theme: "dark" }, context: large });
  await drawn(page);
  await say(page, '/call system_set_config {"section":"hooks","event":"launch","label":"Morning report","action":{"type":"interaction","payload":"Open the rollout board and read me what changed over night."}}');
  await ask(page).waitFor();
  await until(() => ask(page).locator("button:disabled").count()).toBe(0);
  await shoot(page, "approval");
});

it("two tabs on two monitors", async () => {
  const session = await furnish(desk.hub, "en", true);
  const half: BrowserContextOptions = { viewport: { width: 720, height: 900 }, deviceScaleFactor: 1 };
  const wide: BrowserContextOptions = { viewport: { width: 1100, height: 700 }, deviceScaleFactor: 1 };
  await desk.hub.rest.act(
    session,
    [{ type: "window.create", windowId: "log", title: "Build log", bounds: { x: 40, y: 30, w: 560, h: 320 }, content: { renderer: "text", data: "12:01:07 build started\n12:01:31 web: 2,292 modules\n12:01:44 go test ./... ok\n12:02:10 image pushed" } }],
    "monitor-1",
  );
  const profile = await desk.profile({ theme: "dark" }, wide);
  const left = await desk.tab({ session, profile });
  const right = await desk.tab({ session, profile, monitor: "monitor-1" });
  await windowOf(left, "notes").waitFor();
  await windowOf(right, "log").waitFor();
  const album = await (await desk.profile({}, { ...half, viewport: { width: 1440, height: 500 } })).newPage();
  const shots = await Promise.all([left, right].map(async (p) => (await p.screenshot({ animations: "disabled", caret: "hide" })).toString("base64")));
  await album.setContent(
    `<body style="margin:0;display:flex;gap:24px;padding:24px;background:#05080d">${shots
      .map((s) => `<img style="width:684px;border-radius:10px;box-shadow:0 0 0 1px #2a3546" src="data:image/png;base64,${s}">`)
      .join("")}`,
  );
  await album.locator("img").nth(1).waitFor();
  await shoot(album, "two-monitors");
});

it("settings", async () => {
  const session = await furnish(desk.hub, "en", true, false);
  const page = await desk.tab({ session, prefs: { theme: "dark" }, context: large });
  await drawn(page);
  await page.keyboard.press("Control+k");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.type("settings");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Settings" }).waitFor();
  await shoot(page, "settings");
});

it("first run", async () => {
  const page = await desk.tab({ prefs: { theme: "dark", toured: false }, context: large });
  await page.locator("[data-step]").first().waitFor();
  await shoot(page, "tour");
});

it("phone", async () => {
  const session = await furnish(desk.hub, "en", true, false);
  const page = await desk.tab({ session, prefs: { theme: "dark" }, context: phone });
  await waitForRow(page, "No session was interrupted");
  await shoot(page, "phone-chat");
  await desk.hub.rest.act(session, [
    { type: "dialog.confirm", id: "restart", title: "Restart replica-3?", message: "kubectl rollout restart deployment/hub-3", permissionOptions: { showRememberChoice: true, toolName: "deploy", context: "replica-3" } },
  ]);
  await ask(page).waitFor();
  await until(() => ask(page).locator("button:disabled").count()).toBe(0);
  await ask(page).getByRole("button", { name: /^later/i }).tap();
  await until(() => ask(page).filter({ visible: true }).count()).toBe(0);
  await page.locator("[data-page=inbox]").tap();
  await page.getByText("Restart replica-3?").first().waitFor();
  await shoot(page, "phone-inbox");
});

it("sign in", async () => {
  const page = await (await desk.profile({}, large)).newPage();
  await page.goto(`${desk.hub.url}/login`);
  await page.locator("input").first().waitFor();
  await shoot(page, "sign-in");
});
