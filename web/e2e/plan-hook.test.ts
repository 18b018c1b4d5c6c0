// The example hook, on a page that the hub serves in place of its desktop: plans through the documented protocol, in a
// real browser.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { build } from "vite";
import { afterAll, expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { Hub } from "./harness/hub.js";

const folder = await mkdtemp(join(tmpdir(), "everdesk-e2e-hook-"));
await build({ root: "examples", configFile: false, logLevel: "error", build: { outDir: folder, emptyOutDir: true } });
afterAll(() => rm(folder, { recursive: true }));

const desktop = desktopFixture({ flags: ["--desktop-dir", folder] });

/** Kills and restarts the hub; the page reconnects. */
async function restartHub(page: Page): Promise<void> {
  await desktop.hub.kill();
  await expectText(page, "connection", "reconnecting");
  await desktop.hub.up();
  await expectText(page, "connection", "connected");
}

/** A tab with the example page on a session. */
async function open(session: SessionID, at: Hub = desktop.hub): Promise<Page> {
  const page = await (await desktop.profile()).newPage();
  await page.goto(at.entry);
  const hub = at.url.replace("http", "ws");
  await page.goto(`${at.url}/?${new URLSearchParams({ session, hub })}`);
  await expectText(page, "connection", "connected");
  return page;
}

function expectText(page: Page, id: string, text: string) {
  return until(() => page.locator(`#${id}`).innerText()).toBe(text);
}

function plan(session: SessionID, todos: object[], at: Hub = desktop.hub): Promise<unknown> {
  return at.rest.request("POST", `/api/sessions/${session}/messages`, { content: `/plan ${JSON.stringify({ todos })}`, mode: "plan" });
}

it("a plan is reviewed, changed, approved and paused, and continues after the hub is killed in every state", async () => {
  desktop.guard.expectLostHub();
  const session = await desktop.hub.rest.newSession("hook");
  const page = await open(session);
  await plan(session, [
    { id: "slow", task: "/sleep 300ms; /say 1", depends_on: [] },
    { id: "dates", task: "/say 2", depends_on: ["slow"], inputs: [{ field: "days", question: "When?", input_type: "date", range: true, required: true }] },
    { id: "dear", task: "/say 3", depends_on: ["dates"], requires_approval: true },
  ]);
  const press = (name: string) => page.getByRole("button", { name, exact: true });
  await press("Approve plan").waitFor();
  await restartHub(page); // in review
  await press("Change plan").click();
  await until(() => page.locator("li").count()).toBe(4);
  await press("Approve plan").click();
  await expectText(page, "todo-slow", "in_progress");
  await restartHub(page); // running
  await press("Give dates").waitFor();
  await press("Pause").click();
  await expectText(page, "end", "paused");
  await restartHub(page); // paused
  await press("Resume with more").click();
  await until(() => page.locator("li").count()).toBe(5);
  await restartHub(page); // waiting for a value
  await press("Give dates").click();
  await press("Approve todo").waitFor();
  await restartHub(page); // waiting for an approval
  await press("Approve todo").click();
  await expectText(page, "end", "success");
  await expectText(page, "todo-more", "completed");
  await expectText(page, "twice", "0");
});

it("the page uses the hub that serves it when its address names none, and connects only with a session", async () => {
  const session = await desktop.hub.rest.newSession("plain");
  const page = await (await desktop.profile()).newPage();
  await page.goto(desktop.hub.entry);
  await expectText(page, "connection", "The address names no session: add ?session=…");
  await page.goto(`${desktop.hub.url}/?${new URLSearchParams({ session })}`);
  await expectText(page, "connection", "connected");
});

it("of two tabs that answer one wins, and the other is told", async () => {
  const session = await desktop.hub.rest.newSession("two");
  const tabs = [await open(session), await open(session)];
  await plan(session, [{ id: "only", task: "/say done", depends_on: [] }]);
  const buttons = tabs.map((t) => t.getByRole("button", { name: "Approve plan" }));
  for (const b of buttons) await b.waitFor();
  await Promise.all(buttons.map((b) => b.evaluate((e) => (e as HTMLElement).click())));
  for (const t of tabs) await expectText(t, "end", "success");
  const errors = await Promise.all(tabs.map((t) => t.locator("#error").innerText()));
  expect(errors.filter((e) => e !== "").every((e) => e === "5003")).toBe(true);
  expect(errors.filter((e) => e !== "").length).toBeLessThanOrEqual(1);
});

it("a tab that connects while a plan waits sees the open question", async () => {
  const session = await desktop.hub.rest.newSession("late");
  await plan(session, [{ id: "only", task: "/say done", depends_on: [] }]);
  const page = await open(session);
  await page.getByRole("button", { name: "Approve plan" }).click();
  await expectText(page, "end", "success");
});

it("a plan whose review is not answered is cancelled at its deadline", async () => {
  const hub = await Hub.start({ flags: ["--desktop-dir", folder, "--plan-answer-time", "1s"] });
  desktop.guard.allowOrigin(hub.url);
  try {
    const session = await hub.rest.newSession("alone");
    const page = await open(session, hub);
    await plan(session, [{ id: "only", task: "/say done", depends_on: [] }], hub);
    await expectText(page, "end", "cancelled");
    await expectText(page, "error", "5001");
    await page.close();
  } finally {
    await hub.stop();
  }
});
