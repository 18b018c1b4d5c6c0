// The pictures of the admin page: three hubs with the sessions of bench/crowd, two thousand unless E2E_CROWD sets
// another number.

import { execFile } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { requests } from "../desktop/src/tour/steps.js";
import { waitForTable } from "./harness/admin.js";
import { until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { Program } from "./harness/process.js";
import { Rest } from "./harness/rest.js";

const desktop = desktopFixture();
const repository = fileURLToPath(new URL("../..", import.meta.url));
const sessions = Number(process.env.E2E_CROWD ?? "2000");
let folder: string;
let crowd: Program;
let hub: URL;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "everdesk-e2e-crowd-"));
  const program = join(folder, "crowd");
  await promisify(execFile)("go", ["-C", "bench", "build", "-o", program, "./crowd"], { cwd: repository });
  crowd = new Program(program, ["--sessions", String(sessions), "--tabs", String(Math.min(300, sessions)), "--hub", inject("hubBinary")], folder);
  hub = new URL((await crowd.waitForOutput(/open +(\S+)/, 260_000))[1]!);
}, 300_000);

afterAll(async () => {
  await crowd?.end("SIGTERM");
  await rm(folder, { recursive: true, force: true });
});

async function screenshot(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  const path = join(repository, "docs/img", `${name}.png`);
  await page.screenshot({ path, animations: "disabled", caret: "hide" });
  expect((await stat(path)).size, name).toBeLessThan(1_400_000);
}

/** A session with windows, agents, queued messages, a question, and two owners. */
async function busySession(rest: Rest): Promise<SessionID> {
  const session = await rest.newSession("Product launch");
  const atWork = async (): Promise<number> => ((await rest.snapshot(session)).agents ?? []).filter((a) => a.status !== "idle").length;
  await rest.sendMessage(session, requests.en.windows);
  await until(async () => ((await rest.snapshot(session)).windows ?? []).length).toBeGreaterThan(2);
  await until(atWork).toBe(0);
  const { replicas } = await rest.request<{ replicas: { id: string }[] }>("GET", "/api/admin/overview");
  await rest.request("POST", `/api/admin/sessions/${session}/handover`, { reason: "For the picture.", to: replicas[1]!.id });
  await rest.sendMessage(session, "/nosteer\n/stream 9000 30");
  // In the background only some turns may run at once, and the others are queued.
  await rest.sendMessage(session, "/nosteer\n/ask Which day shall it be? | Monday | Friday", "monitor-1");
  await rest.sendMessage(session, "/nosteer\n/hang", "monitor-1");
  for (const text of ["Book the hall", "Print the posters", "Invite the partners"]) await rest.sendMessage(session, text, "monitor-1");
  return session;
}

it("admin, admin-session", async () => {
  desktop.guard.allowOrigin(hub.origin);
  const rest = new Rest(hub.origin, hub.searchParams.get("token")!);
  const profile = await desktop.profile({ theme: "dark" }, { viewport: { width: 1440, height: 900 }, deviceScaleFactor: 2, colorScheme: "dark" });
  const page = await profile.newPage();
  await page.goto(hub.href);
  await waitForTable(page, sessions);
  const session = await busySession(rest);
  const watching = await profile.newPage();
  await watching.goto(`${hub.origin}/?session=${session}`);
  await watching.locator("[data-link=live]").first().waitFor();
  // Charts need some data.
  await page.waitForTimeout(75_000);
  await screenshot(page, "admin");
  await page.setViewportSize({ width: 1440, height: 1200 });
  await page.locator("input[name=text]").fill(session);
  await page.locator(`[data-session="${session}"] a`).click();
  await page.locator("[data-admin-action=cancel]").first().waitFor();
  await page.locator("[data-agent]").first().waitFor();
  await page.locator(".tail-line").nth(10).waitFor();
  await screenshot(page, "admin-session");
  await watching.close();
}, 300_000);
