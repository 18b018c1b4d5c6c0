// Views of MCP servers: a tool opens its view as a window, in all tabs, also after a reload and a restart of the hub.

import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FrameLocator, Page } from "playwright-core";
import { expect, it } from "vitest";
import type { SessionID, WindowState } from "../core/src/index.js";
import { questionCard, until, waitForLink, waitForRow, waitUntilArmed, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture({ flags: ["--user-mcp-commands", "on"] });

const program = fileURLToPath(new URL("harness/ui-server.mjs", import.meta.url));

/** Adds the test server, as a user pastes a configuration; returns the file with its notes. */
async function addServer(): Promise<string> {
  const notes = join(await mkdtemp(join(tmpdir(), "everdesk-e2e-ui-")), "notes");
  const config = { mcpServers: { board: { command: process.execPath, args: [program, notes], trusted: true } } };
  await desktop.hub.rest.request("POST", "/api/mcp-servers", { config: JSON.stringify(config) });
  return notes;
}

/** Lets the agent call the tool, and returns the window that it opens. */
async function openBoard(session: SessionID, place: string): Promise<WindowState> {
  const boards = async (): Promise<WindowState[]> =>
    ((await desktop.hub.rest.snapshot(session)).windows ?? []).filter((w) => w.content.renderer === "mcp-app" && JSON.stringify(w.content.data.input).includes(place));
  await desktop.hub.rest.sendMessage(session, `/call mcp__board__show {"place":"${place}"}`);
  await until(async () => (await boards()).length).toBe(1);
  return (await boards())[0]!;
}

const view = (page: Page, w: WindowState): FrameLocator => windowOf(page, w.windowId).frameLocator("iframe");
const read = (page: Page, w: WindowState, id: string): Promise<string> => view(page, w).locator(`#${id}`).innerText();

it("a tool opens its view in two tabs, and it is there after a reload and a restart of the hub", async () => {
  await addServer();
  const session = await desktop.hub.rest.newSession("views");
  const profile = await desktop.profile();
  const page = await desktop.tab({ session, profile });
  const other = await desktop.tab({ session, profile });
  const board = await openBoard(session, "Paris");
  expect(board.title).toBe("Board");
  for (const tab of [page, other]) {
    await until(() => read(tab, board, "place")).toBe("Paris");
    await until(() => read(tab, board, "input")).toBe('{"place":"Paris"}');
    await until(() => read(tab, board, "theme")).toBe("dark");
    await until(() => read(tab, board, "mode")).toBe("inline");
  }
  // The view has the colours of the desktop, and the window the height of the view.
  const colour = await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--surface"));
  const theirs = await view(page, board).locator("body").evaluate(() => document.documentElement.style.getPropertyValue("--color-background-primary"));
  expect(theirs.trim()).toBe(colour.trim());
  await until(async () => ((await desktop.hub.rest.window(session, board.windowId))?.bounds.h ?? 0) > 480).toBe(true);

  await page.reload();
  await until(() => read(page, board, "place")).toBe("Paris");
  desktop.guard.expectLostHub();
  await desktop.hub.kill();
  await desktop.hub.up();
  await waitForLink(page, "live");
  await page.reload();
  await until(() => read(page, board, "place")).toBe("Paris");
  expect(await read(page, board, "input")).toBe('{"place":"Paris"}');
});

it("a view reaches declared origins only, and has no origin itself", async () => {
  await addServer();
  const session = await desktop.hub.rest.newSession("cage");
  const page = await desktop.tab({ session });
  const board = await openBoard(session, "Rome");
  await until(() => read(page, board, "place")).toBe("Rome");
  desktop.guard.allowOrigin("https://declared.example.com");
  const asked: string[] = [];
  await page.route("https://*.example.com/**", (route) => {
    asked.push(new URL(route.request().url()).host);
    return route.fulfill({ body: "ok", headers: { "access-control-allow-origin": "*" } });
  });
  desktop.guard.expect(/undeclared\.example\.com/);
  await view(page, board).getByRole("button", { name: "Fetch" }).click();
  await until(() => read(page, board, "answer")).toBe("declared reached");
  expect(asked).toEqual(["declared.example.com"]);
  expect(await read(page, board, "blocked")).toBe("https://undeclared.example.com/x connect-src;");
  expect(await view(page, board).locator("body").evaluate(() => window.origin)).toBe("null");
});

it("a view is told that it ends before its window goes", async () => {
  await addServer();
  const session = await desktop.hub.rest.newSession("end");
  const page = await desktop.tab({ session });
  const said: string[] = [];
  page.on("console", (m) => said.push(m.text()));
  const board = await openBoard(session, "Oslo");
  await until(() => read(page, board, "place")).toBe("Oslo");
  await desktop.hub.rest.runActions(session, [{ type: "window.close", windowId: board.windowId }]);
  await windowOf(page, board.windowId).waitFor({ state: "detached" });
  await until(() => said).toContain("the board ends");
});

it("a view calls tools of its server after the user allowed it, once for the window", async () => {
  await addServer();
  const session = await desktop.hub.rest.newSession("calls");
  const profile = await desktop.profile();
  const page = await desktop.tab({ session, profile });
  const board = await openBoard(session, "Bern");
  await until(() => read(page, board, "place")).toBe("Bern");
  const press = (name: string): Promise<void> => view(page, board).getByRole("button", { name }).click();
  await press("Count");
  const allow = questionCard(page).getByRole("button", { name: /^(approve|allow)/i }).first();
  expect(await questionCard(page).innerText()).toContain("Let a window use “count” of the MCP server “board”?");
  await waitUntilArmed(allow);
  await allow.click();
  await until(() => read(page, board, "answer")).toBe("count 1");
  await press("Count");
  await until(() => read(page, board, "answer")).toBe("count 2");
  await press("Model");
  await until(() => read(page, board, "answer")).toContain('has no tool "model" that views may use');
  await press("Read");
  await until(() => read(page, board, "answer")).toBe("a text of the server");
  await press("Full");
  await until(() => read(page, board, "answer")).toBe("fullscreen");
  await until(() => read(page, board, "mode")).toBe("fullscreen");
  expect((await desktop.hub.rest.window(session, board.windowId))?.maximized).toBe(true);

  // A restart keeps the permission.
  desktop.guard.expectLostHub();
  await desktop.hub.kill();
  await desktop.hub.up();
  await waitForLink(page, "live");
  await page.reload();
  await until(() => read(page, board, "place")).toBe("Bern");
  await press("Count");
  await until(() => read(page, board, "answer")).toBe("count 1");
  expect(await questionCard(page).count()).toBe(0);
});

it("a view offers messages and links, which the user confirms, and tells the model what it shows", async () => {
  await addServer();
  const session = await desktop.hub.rest.newSession("messages");
  const page = await desktop.tab({ session });
  const board = await openBoard(session, "Lima");
  await until(() => read(page, board, "place")).toBe("Lima");
  const press = (name: string): Promise<void> => view(page, board).getByRole("button", { name }).click();
  await press("Say");
  const dialog = page.getByRole("dialog", { name: "Send this as your message?" });
  expect(await dialog.innerText()).toContain("/say hello from the board");
  const send = dialog.getByRole("button", { name: "Send" });
  await waitUntilArmed(send);
  await send.click();
  await until(() => read(page, board, "answer")).toBe("{}");
  await until(async () => JSON.stringify(await desktop.hub.rest.rows(session))).toContain("<app_interaction>/say hello from the board</app_interaction>");
  await press("Link");
  await page.getByRole("dialog").getByText("https://example.com/page").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await press("Context");
  await until(() => read(page, board, "answer")).toBe("{}");
  await until(async () => (await desktop.hub.rest.events(session)).filter((e) => e.type === "VIEW_ACTIVE").length).toBe(1);
  await desktop.hub.rest.sendMessage(session, "/recall");
  await waitForRow(page, /the person looks at row 7/);
});

it("one tab at a time is the active view", async () => {
  await addServer();
  const session = await desktop.hub.rest.newSession("active");
  const profile = await desktop.profile();
  const page = await desktop.tab({ session, profile });
  const other = await desktop.tab({ session, profile });
  const board = await openBoard(session, "Kyiv");
  for (const tab of [page, other]) await until(() => read(tab, board, "place")).toBe("Kyiv");
  await view(page, board).getByRole("button", { name: "Context" }).click();
  const here = windowOf(other, board.windowId).getByRole("button", { name: "Use it here" });
  await here.waitFor();
  expect(await read(page, board, "place")).toBe("Kyiv");
  await here.click();
  await until(() => read(other, board, "place")).toBe("Kyiv");
  await windowOf(page, board.windowId).getByRole("button", { name: "Use it here" }).waitFor();
});
