// The pictures of the documentation: npm run shots writes them to docs/img. They show the answers of the demo provider
// to the messages of the tour. Those of the admin page are in admin.shots.ts.

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterEach, expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import type { Prefs } from "../desktop/src/shell/prefs.js";
import { type AgentStep, requests } from "../desktop/src/tour/steps.js";
import { questionCard, sendMessage, titleBar, until, waitUntilArmed, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();
const folder = fileURLToPath(new URL("../../docs/img", import.meta.url));
const large: BrowserContextOptions = { viewport: { width: 1440, height: 900 }, deviceScaleFactor: 2 };
/** A screen on which a layout is made larger; its pictures have the size of the screen. */
const huge: BrowserContextOptions = { viewport: { width: 3840, height: 2160 }, deviceScaleFactor: 1 };
const phone: BrowserContextOptions = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
const opened: SessionID[] = [];

// Running turns would hold agent slots during the next tests.
afterEach(async () => {
  await Promise.all(opened.splice(0).map((id) => desktop.hub.rest.request("DELETE", `/api/sessions/${id}`)));
});

async function newSession(title: string): Promise<SessionID> {
  const session = await desktop.hub.rest.newSession(title);
  opened.push(session);
  return session;
}

async function open(session: SessionID, prefs: Partial<Prefs> = {}, context: BrowserContextOptions = large): Promise<Page> {
  const locale = prefs.language === "ko" ? "ko-KR" : "en-GB";
  // Frames query the browser's colour scheme, which is emulated here.
  const colorScheme = prefs.theme === "light" ? "light" : "dark";
  return desktop.tab({ session, prefs, context: { ...context, locale, colorScheme } });
}

async function screenshot(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.fonts.ready);
  await until(() => page.locator("[data-notice], [data-toast-id]").count()).toBe(0);
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, animations: "disabled", caret: "hide" });
  expect((await stat(path)).size, name).toBeLessThan(1_800_000);
}

/** Takes the focus from what a key or a script gave it, so that no ring is in the picture. */
async function blur(page: Page): Promise<void> {
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
}

/** Sends the message of a step of the tour, and waits for the end of the turn unless `wait` is false. */
async function request(session: SessionID, step: AgentStep, language: "en" | "ko" = "en", wait = true, monitor = "monitor-0"): Promise<void> {
  await desktop.hub.rest.sendMessage(session, requests[language][step], monitor);
  const running = async (): Promise<number> => ((await desktop.hub.rest.snapshot(session)).agents ?? []).filter((a) => a.status !== "idle").length;
  if (wait) await until(running).toBe(0);
}

/** Waits until everything in frames is drawn. */
async function waitForFrames(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  for (const frame of await page.locator("section[data-window-id] iframe").all()) {
    await frame.contentFrame().locator("svg, canvas, button, div").first().waitFor({ state: "attached" });
  }
}

it("desktop-dark-en, palette, settings", async () => {
  const session = await newSession("Balcony station");
  await request(session, "windows");
  await request(session, "background", "en", false, "monitor-1");
  const page = await open(session, { theme: "dark" });
  await waitForFrames(page);
  await page.locator("[data-agent]").first().waitFor();
  await screenshot(page, "desktop-dark-en");

  await page.keyboard.press("Control+k");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.type("mon");
  await screenshot(page, "palette");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("settings");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Settings" }).waitFor();
  await screenshot(page, "settings");
});

it("parallel tasks", async () => {
  const session = await newSession("Product launch");
  const page = await open(session, { theme: "dark" });
  await request(session, "plan", "en", false);
  await until(async () => ((await desktop.hub.rest.snapshot(session)).agents ?? []).filter((a) => a.kind === "task").length).toBeGreaterThan(2);
  await windowOf(page, "launch-1").getByText("✓").nth(1).waitFor();
  await screenshot(page, "parallel-tasks");
});

it("a plan that is reviewed, and one that runs", async () => {
  const session = await newSession("Autumn numbers");
  const page = await open(session, { theme: "dark" });
  await page.keyboard.press("Alt+p");
  await sendMessage(page, "Compare the autumn sales with the year before");
  await questionCard(page).and(page.locator("[data-armed=true]")).waitFor();
  await screenshot(page, "plan-review");
  await questionCard(page).getByRole("button", { name: /^(approve|delete|run)/i }).click();
  // Tasks run, and none has failed yet.
  const todos = page.locator("[data-region=plan] [data-todo]");
  await todos.and(page.locator("[data-status=in_progress]")).first().waitFor();
  await blur(page);
  await screenshot(page, "plan");
});

it("plan-result", async () => {
  const session = await newSession("Team day");
  const page = await open(session, { theme: "light" });
  const write = '/call storage_write {"path":"team-day.md","content":"# Team day\\n\\n14 people, a boat, lunch at the lake."}';
  const show = '/call window_create {"windowId":"route","title":"Route","content":{"renderer":"table","content":{"headers":["When","Where"],"rows":[["09:30","Harbour"],["12:30","Lunch at the lake"],["17:00","Back"]]}}}';
  const todos = [
    { id: "ask", task: "Ask who comes; /say 14 people come" },
    { id: "route", task: `Choose the route; ${show}; /say The boat leaves at 09:30`, depends_on: ["ask"] },
    { id: "write", task: `Write the invitation; ${write}; /say The invitation is written`, depends_on: ["route"] },
  ];
  await sendMessage(page, `/plan ${JSON.stringify({ todos })}`);
  const approve = questionCard(page).getByRole("button", { name: /^(approve|run)/i });
  await waitUntilArmed(approve);
  await approve.click();
  await page.locator("[data-plan-result=complete]").waitFor();
  // The message has the plan in a form for tests.
  await page.keyboard.press("Alt+c");
  await blur(page);
  await screenshot(page, "plan-result");
});

it("desktop-light-ko", async () => {
  const session = await newSession("베란다 관측소");
  await request(session, "windows", "ko");
  await request(session, "background", "ko", false, "monitor-1");
  const page = await open(session, { theme: "light", language: "ko" });
  await waitForFrames(page);
  await page.locator("[data-agent]").first().waitFor();
  await screenshot(page, "desktop-light-ko");
});

it("contrast", async () => {
  const session = await newSession("Balcony station");
  await request(session, "windows");
  const page = await open(session, { theme: "contrast" });
  await waitForFrames(page);
  await screenshot(page, "desktop-contrast");
});

it("approval", async () => {
  const session = await newSession("Tidying up");
  const page = await open(session, { theme: "dark" });
  await sendMessage(page, requests.en.approval);
  await questionCard(page).waitFor();
  await until(() => questionCard(page).locator("button:disabled").count()).toBe(0);
  await screenshot(page, "approval");
});

it("two tabs on two monitors", async () => {
  const session = await newSession("Balcony station");
  await request(session, "windows");
  await request(session, "background", "en", false, "monitor-1");
  const profile = await desktop.profile({ theme: "dark" }, { ...large, colorScheme: "dark" });
  const left = await desktop.tab({ session, profile });
  const right = await desktop.tab({ session, profile, monitor: "monitor-1" });
  await waitForFrames(left);
  await right.locator("section[data-window-id]").first().waitFor();
  const shots = await Promise.all([left, right].map(async (p) => (await p.screenshot({ animations: "disabled", caret: "hide" })).toString("base64")));
  const album = await (await desktop.profile({}, { viewport: { width: 1440, height: 476 }, deviceScaleFactor: 2 })).newPage();
  const images = shots.map((s) => `<img style="width:684px;border-radius:10px;box-shadow:0 0 0 1px #2a3546" src="data:image/png;base64,${s}">`);
  await album.setContent(`<body style="margin:0;display:flex;gap:24px;padding:24px;background:#05080d">${images.join("")}`);
  await album.locator("img").nth(1).waitFor();
  await screenshot(album, "two-monitors");
});

it("first run", async () => {
  const page = await open(await newSession(""), { theme: "dark", toured: false });
  await page.locator("[data-step]").first().waitFor();
  await screenshot(page, "tour");
});

it("first screens on a small laptop and on a phone", async () => {
  const laptop = await open(await newSession(""), { theme: "dark", toured: false }, { viewport: { width: 1024, height: 700 }, deviceScaleFactor: 2 });
  await laptop.locator("[data-step]").first().waitFor();
  await screenshot(laptop, "first-1024");
  const small = await open(await newSession(""), { theme: "dark", toured: false }, phone);
  await small.locator("[data-step]").first().waitFor();
  await screenshot(small, "first-phone");
});

it("always allow", async () => {
  const page = await open(await newSession("Mornings"), { theme: "light" });
  await sendMessage(page, '/call system_set_config {"section":"hooks","event":"launch","label":"Say good morning","action":{"type":"interaction","payload":"good morning"}}');
  await waitUntilArmed(questionCard(page).getByRole("button", { name: "Always allow" }));
  await screenshot(page, "always-allow");
});

it("code, window menu", async () => {
  const session = await newSession("Balcony station");
  const page = await open(session, { theme: "dark" });
  const data = "# First reading\n\n```python\nfrom aurora import Station\n\nstation = Station(\"balcony\")\nfor reading in station.today():\n    print(f\"{reading.time:%H:%M}  {reading.temperature:.1f} °C\")  # 21.4\n```\n\nThe sensor sends a value every minute.";
  await desktop.hub.rest.runActions(session, [{ type: "window.create", windowId: "code", title: "First reading", bounds: { x: 260, y: 120, w: 560, h: 420 }, content: { renderer: "markdown", data } }]);
  await windowOf(page, "code").locator("code span").first().waitFor();
  await screenshot(page, "code");
  await titleBar(page, "code").click({ button: "right", position: { x: 200, y: 12 } });
  await page.locator(".win-menu [role=menuitem]").first().waitFor();
  await screenshot(page, "window-menu");
});

it("phone", async () => {
  const session = await newSession("Balcony station");
  await request(session, "windows");
  const page = await open(session, { theme: "dark" }, phone);
  await page.locator("[data-row][data-kind=assistant]").first().waitFor();
  await screenshot(page, "phone-chat");
  await desktop.hub.rest.sendMessage(session, requests.en.approval);
  await questionCard(page).waitFor();
  await until(() => questionCard(page).locator("button:disabled").count()).toBe(0);
  await questionCard(page).getByRole("button", { name: /^later/i }).tap();
  await until(() => questionCard(page).filter({ visible: true }).count()).toBe(0);
  await page.locator("[data-page=inbox]").tap();
  await waitUntilArmed(page.getByRole("button", { name: /^(approve|delete|run)/i }).first());
  await screenshot(page, "phone-inbox");
});

it("film", async () => {
  const session = await newSession("Balcony station");
  await request(session, "windows");
  const page = await open(session, { theme: "dark" });
  await page.goto(`${desktop.address(session)}&film`);
  await page.locator('dialog.film[data-film="ready"]').waitFor();
  await blur(page);
  await screenshot(page, "film");
});

it("launcher", async () => {
  const page = await open(await newSession("Apps"), { theme: "light" });
  await page.locator("main").focus();
  await page.keyboard.press("Alt+a");
  await page.locator("dialog[open] [data-template=trip]").waitFor();
  await page.locator("dialog[open] [data-install]").first().waitFor();
  await screenshot(page, "launcher");
});

it("chart, board, overview", async () => {
  const session = await newSession("Autumn numbers");
  const page = await open(session, { theme: "light" });
  for (const text of ["show a chart", "open a kanban board: plan, build, test, ship", "make a to-do list: invite the team, book the room, order lunch", "show a table"]) {
    await sendMessage(page, text);
    await until(async () => ((await desktop.hub.rest.snapshot(session)).agents ?? []).filter((a) => a.status !== "idle").length).toBe(0);
  }
  await page.locator(".kanban-card").first().waitFor();
  await page.locator(".chart-bar, .chart svg").first().waitFor();
  await page.locator("main").focus();
  await page.keyboard.press("Alt+t");
  await until(() => page.locator("[data-notice], [data-toast-id]").count()).toBe(0);
  await blur(page);
  await screenshot(page, "chart-and-board");
  await page.keyboard.press("Alt+w");
  await page.getByRole("dialog", { name: "Overview of all windows" }).waitFor();
  await blur(page);
  await screenshot(page, "overview");
});

it("share", async () => {
  const session = await newSession("Balcony station");
  await request(session, "windows");
  const page = await open(session, { theme: "dark" });
  await waitForFrames(page);
  await page.getByRole("button", { name: "Menu", exact: true }).click();
  await page.getByRole("menuitem", { name: "Share…" }).click();
  await page.getByRole("dialog", { name: "Share this session" }).waitFor();
  await screenshot(page, "share");
});

it("a screen of 3840×2160", async () => {
  const session = await newSession("Balcony station");
  const page = await open(session, { theme: "dark" }, huge);
  await sendMessage(page, requests.en.windows);
  await page.locator("section[data-window-id]").nth(2).waitFor();
  await until(async () => ((await desktop.hub.rest.snapshot(session)).agents ?? []).filter((a) => a.status !== "idle").length).toBe(0);
  await waitForFrames(page);
  await screenshot(page, "desktop-4k");
});

it("sign in", async () => {
  const page = await (await desktop.profile({}, { viewport: { width: 960, height: 600 }, deviceScaleFactor: 2, colorScheme: "dark" })).newPage();
  await page.goto(`${desktop.hub.url}/login`);
  await page.locator("input").first().waitFor();
  await screenshot(page, "sign-in");
});
