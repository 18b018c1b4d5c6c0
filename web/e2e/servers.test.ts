// MCP servers of a user in the page: a configuration is pasted, its secret set, the server tried, switched off and
// deleted, without any other program.

import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { findViolations } from "./harness/axe.js";
import { until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture({ flags: ["--user-mcp-commands", "on"] });

const program = fileURLToPath(new URL("harness/ui-server.mjs", import.meta.url));

async function openPanel(page: Page): Promise<Locator> {
  await page.getByRole("button", { name: "Menu", exact: true }).click();
  await page.getByRole("menuitem", { name: "MCP servers…" }).click();
  const panel = page.getByRole("dialog", { name: "MCP servers" });
  await panel.getByRole("textbox").last().waitFor();
  return panel;
}

it("a configuration is pasted, its secret set, the server tried, switched off and deleted", { timeout: 120_000 }, async () => {
  const notes = join(await mkdtemp(join(tmpdir(), "everdesk-e2e-servers-")), "notes");
  const session = await desktop.hub.rest.newSession("servers");
  const page = await desktop.tab({ session });
  let panel = await openPanel(page);
  await panel.getByText("There are none yet.").waitFor();
  const paste = panel.getByLabel("Paste the servers that you have");
  const entry = { command: process.execPath, args: [program, notes], env: { BOARD_KEY: "$" + "{secret:board-key}" }, icon: "ignored" };
  // The common form, with a comment and a comma at the end, as people have it.
  await paste.fill(`{\n  // mine\n  "mcpServers": {"board": ${JSON.stringify(entry)},},\n}`);
  await panel.getByRole("button", { name: "Add servers" }).press("Enter");
  const row = panel.locator('[data-server="board"]');
  await row.getByText("not running").waitFor();
  await panel.getByText("board: ignored: icon").waitFor();
  expect(await paste.inputValue()).toBe("");
  expect(await findViolations(page), "violations of the panel").toEqual([]);

  // Without its secret it does not start, and says so.
  await row.getByRole("button", { name: "Try board" }).press("Enter");
  await until(() => row.getByRole("alert").innerText()).toContain("board-key");
  const secret = row.getByLabel("Secret board-key, which this server needs");
  await secret.fill("s3cret");
  await secret.press("Enter");
  await secret.waitFor({ state: "detached" });
  await row.getByRole("button", { name: "Try board" }).press("Enter");
  await row.getByText("ready", { exact: true }).waitFor();
  await row.getByText("4 tools").click();
  await row.getByText("mcp__board__show").waitFor();
  await row.getByRole("button", { name: "Log of board" }).press("Enter");
  await until(() => row.locator(".servers-log").innerText()).toContain("tools/list");
  expect(await row.locator(".servers-log").innerText()).not.toContain("s3cret");
  expect(await findViolations(page), "violations with tools and log").toEqual([]);

  await row.getByRole("button", { name: "Switch off board" }).press("Enter");
  await row.getByText("switched off", { exact: true }).waitFor();
  expect(await row.getByRole("button", { name: "Try board" }).isDisabled()).toBe(true);
  await page.reload();
  panel = await openPanel(page);
  await row.getByText("switched off", { exact: true }).waitFor();
  await row.getByRole("button", { name: "Switch on board" }).press("Enter");
  await row.getByRole("button", { name: "Switch off board" }).waitFor();
  await row.getByRole("button", { name: "Try board" }).press("Enter");
  await row.getByText("ready", { exact: true }).waitFor(); // nothing of the entry was lost

  await row.getByRole("button", { name: "Delete board" }).press("Enter");
  await row.getByRole("group").getByRole("button", { name: "Delete", exact: true }).press("Enter");
  await panel.getByText("There are none yet.").waitFor();
});

it("a block that is not valid is refused with the reason, and its text stays", async () => {
  const page = await desktop.tab();
  const panel = await openPanel(page);
  desktop.guard.expect(/400/);
  const paste = panel.getByLabel("Paste the servers that you have");
  for (const [text, reason] of [
    ['{"mcpServers": {"a": {"command": 7}}}', "a.command"],
    ['{"mcpServers": {"a": {"url": "ftp://x"}}}', "a.url"],
    ["not json", "want a JSON object"],
  ] as const) {
    await paste.fill(text);
    await panel.getByRole("button", { name: "Add servers" }).click();
    await until(() => panel.getByRole("alert").innerText()).toContain(reason);
    expect(await paste.inputValue()).toBe(text);
  }
});
