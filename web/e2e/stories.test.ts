// What a new user does with a model that follows a script: a pasted server gives a view, an app is made and stays, and a page of the
// web is read after its domain was allowed once.

import { mkdtemp } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FrameLocator, Page } from "playwright-core";
import { afterAll, expect, it, onTestFinished } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { questionCard, sendMessage, until, waitForLink, waitForRow, waitUntilArmed, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { Model } from "./harness/model.js";

const model = await Model.start();
afterAll(() => model.stop());
const desktop = desktopFixture({ flags: [...model.flags, "--user-mcp-commands", "on", "--web-hosts", "127.0.0.1"] });

/** Answers the open question with its first button that agrees; returns the text of the question. */
async function agree(page: Page): Promise<string> {
  const card = questionCard(page).filter({ visible: true }).first();
  await card.waitFor();
  const text = await card.innerText();
  const button = card.getByRole("button", { name: /^(approve|allow|run|use|change|install)/i }).first();
  await waitUntilArmed(button);
  await button.click();
  await card.waitFor({ state: "detached" });
  return text;
}

it("a pasted server: the answer to a request is a view in two tabs", { timeout: 180_000 }, async () => {
  const program = fileURLToPath(new URL("harness/ui-server.mjs", import.meta.url));
  const notes = join(await mkdtemp(join(tmpdir(), "everdesk-e2e-stories-")), "notes");
  const session = await desktop.hub.rest.newSession("map");
  const profile = await desktop.profile();
  const page = await desktop.tab({ session, profile });
  const other = await desktop.tab({ session, profile });
  await page.getByRole("button", { name: "Menu", exact: true }).click();
  await page.getByRole("menuitem", { name: "MCP servers…" }).click();
  const panel = page.getByRole("dialog", { name: "MCP servers" });
  await panel.getByLabel("Paste the servers that you have").fill(JSON.stringify({ mcpServers: { board: { command: process.execPath, args: [program, notes] } } }));
  await panel.getByRole("button", { name: "Add servers" }).click();
  await panel.locator('[data-server="board"]').waitFor();
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });

  await sendMessage(page, '/call mcp__board__show {"place":"Paris"}\n/say Here is Paris.');
  expect(await agree(page), "the question").toContain("board");
  await waitForRow(page, "Here is Paris.");
  const boards = (tab: Page): FrameLocator => tab.locator("section[data-window-id]").first().frameLocator("iframe");
  for (const tab of [page, other]) await until(() => boards(tab).locator("#place").innerText()).toBe("Paris");
});

/** A message with which the agent gives a task with a script to another one, and then says something. */
const task = (profile: string, script: string, end: string): string => `/call task_run ${JSON.stringify({ profile, objective: script })}\n/say ${end}`;

/** The text of the last result of a tool. */
async function resultOf(session: SessionID, tool: string): Promise<string> {
  const message = async (): Promise<string> =>
    (await desktop.hub.rest.events(session)).reduce((last, e) => (e.type === "TOOL_PROGRESS" && e.data.toolName === tool && e.data.status === "complete" ? (e.data.message ?? "") : last), "");
  await until(message).not.toBe("");
  return message();
}

it("a made app is pinned, the hub is killed, and its icon opens it with its data", { timeout: 180_000 }, async () => {
  const session = await desktop.hub.rest.newSession("habits");
  const page = await desktop.tab({ session });
  const source = `
    const button = document.createElement("button");
    let n = 0;
    const show = (): void => { button.textContent = "Done " + String(n); };
    show();
    yaar.storage.read("n.json").then((stored: string | null) => { n = Number(stored); show(); });
    button.onclick = () => { n++; yaar.storage.save("n.json", String(n)).then(show); };
    document.querySelector("#app")!.append(button);`;
  await sendMessage(page, task("app", `/call dev_write_ts ${JSON.stringify({ path: "src/main.ts", content: source })}`, "Written."));
  const sandbox = /sandbox (\d+)/.exec(await resultOf(session, "dev:write_ts"))![1]!;
  await sendMessage(page, task("app", `/call dev_deploy ${JSON.stringify({ sandbox, appId: "habits", name: "Habits", icon: "🌱" })}`, "Published."));
  const icon = page.locator('.win-icons [data-app-id="habits"]');
  await icon.waitFor();
  await icon.press("Enter");
  const app = windowOf(page, "app-habits");
  const button = app.frameLocator("iframe").getByRole("button");
  await button.click();
  await until(() => button.innerText()).toBe("Done 1");
  await app.locator(".win-title").first().click({ button: "right" });
  await page.getByRole("menuitem", { name: "Pin to the desktop" }).click();
  const pin = page.locator('[data-shortcut-id="pin-app-habits"]');
  await pin.waitFor();
  await desktop.hub.rest.runActions(session, [{ type: "window.close", windowId: "app-habits" }]);
  await app.waitFor({ state: "detached" });

  desktop.guard.expectLostHub();
  await desktop.hub.kill();
  await desktop.hub.up();
  await waitForLink(page, "live");
  await page.reload();
  await pin.press("Enter");
  await until(() => button.innerText()).toBe("Done 1");
});

it("a web page is summarised after its domain was allowed once, and the source is seen", { timeout: 180_000 }, async () => {
  const web = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<title>Tea</title><h1>Tea</h1><p>Green tea needs 70 degrees.</p>"));
  await new Promise<void>((done) => web.listen(0, "127.0.0.1", done));
  onTestFinished(() => void web.close());
  const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/tea`;
  const session = await desktop.hub.rest.newSession("tea");
  const page = await desktop.tab({ session });
  const get = `/call system_http_get ${JSON.stringify({ url })}\n/results`;
  await sendMessage(page, task("web", `${get}\n/call system_request_allowing_domain {"domain":"127.0.0.1"}\n/say Now:\n${get}`, "It is about tea."));
  expect(await agree(page), "the question").toContain("Allow “127.0.0.1”?");
  await waitForRow(page, "It is about tea.");
  expect(await resultOf(session, "system:http_get"), "what was read").toContain("Green tea needs 70 degrees.");
  // The conversation names the source.
  await until(async () => (await page.locator("[data-row]").allInnerTexts()).join("\n")).toContain(`Read ${url}`);

  // It is allowed for good, on all desktops. The first one has read data of others, so its next request would ask for that reason.
  const next = await desktop.tab({ session: await desktop.hub.rest.newSession("more tea") });
  await sendMessage(next, task("web", get, "Read again."));
  await waitForRow(next, "Read again.");
  expect(await questionCard(next).count(), "questions").toBe(0);
  await next.getByRole("button", { name: "Menu", exact: true }).click();
  await next.getByRole("menuitem", { name: "Allowed domains…" }).click();
  await next.locator('[data-domain="127.0.0.1"]').waitFor();
});
