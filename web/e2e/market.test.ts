// The apps that come with the hub: each opens in its sandbox and is driven by a program over MCP, as agents do.

import { readdirSync } from "node:fs";
import type { FrameLocator, Page } from "playwright-core";
import { expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { until, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();
const apps = readdirSync(new URL("../../apps/market/", import.meta.url));

type Call = (tool: string, input: object) => Promise<string>;

/** Opens a session in a tab, and returns how a program calls tools in it. */
async function openSession(): Promise<{ session: SessionID; page: Page; call: Call }> {
  const session = await desktop.hub.rest.newSession("market");
  const { token } = await desktop.hub.rest.request<{ token: string }>("POST", `/api/sessions/${session}/mcp-tokens`, { name: "test", profile: "default", monitor: "monitor-0", ttl: 3600 });
  const page = await desktop.tab({ session });
  const call: Call = async (name, input) => {
    const r = await fetch(`${desktop.hub.url}/mcp`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, accept: "application/json, text/event-stream", "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } }),
    });
    const answer = (await r.json()) as { result?: { content: { text: string }[]; isError?: boolean } };
    const text = answer.result?.content[0]?.text;
    if (text === undefined || answer.result?.isError === true) throw new Error(`${name}: ${text ?? JSON.stringify(answer)}`);
    return text;
  };
  return { session, page, call };
}

/** Installs an app, opens it and waits until it has registered. */
async function openApp(page: Page, call: Call, id: string): Promise<{ frame: FrameLocator; manifest: string }> {
  await call("apps_market_get", { appId: id });
  await call("window_create", { windowId: id, title: id, width: 760, height: 520, content: { renderer: "iframe", content: `/api/apps/${id}/index.html` } });
  await windowOf(page, id).waitFor();
  const query = (): Promise<string> => call("window_app_query", { windowId: id, stateKey: "manifest" }).catch((e: Error) => e.message);
  await until(query).toContain("commands");
  return { frame: windowOf(page, id).frameLocator("iframe"), manifest: await query() };
}

it("every app registers what agents can do, and answers for all its states", async () => {
  const { page, call } = await openSession();
  for (const id of apps) {
    const { manifest } = await openApp(page, call, id);
    const { appId, state, commands } = JSON.parse(manifest) as { appId: string; state: object; commands: object };
    expect(appId).toBe(id);
    expect(Object.keys(commands).length, id).toBeGreaterThan(0);
    for (const stateKey of Object.keys(state)) expect(await call("window_app_query", { windowId: id, stateKey }), `${id} ${stateKey}`).not.toBe("");
    await call("window_close", { windowId: id });
  }
});

it("a program adds, a person completes, and the program sees it", async () => {
  const { page, call } = await openSession();
  const { frame } = await openApp(page, call, "todo");
  await call("window_app_command", { windowId: "todo", command: "add", params: { text: "Water the plants", due: "2030-01-31" } });
  await frame.getByRole("checkbox", { name: "Done: Water the plants" }).check();
  await until(() => call("window_app_query", { windowId: "todo", stateKey: "counts" })).toContain('"done":1');
  await frame.getByRole("textbox", { name: "What is to be done?" }).fill("Call Ann");
  await page.keyboard.press("Enter");
  await until(() => call("window_app_query", { windowId: "todo", stateKey: "items" })).toContain("Call Ann");
});

it("two tabs show the same data, once, and a new window has it", async () => {
  const { session, page, call } = await openSession();
  const { frame } = await openApp(page, call, "kanban");
  const other = await desktop.tab({ session });
  const there = windowOf(other, "kanban").frameLocator("iframe");
  await there.getByRole("button", { name: "Add column" }).waitFor();
  await call("window_app_command", { windowId: "kanban", command: "add_card", params: { column: "To do", title: "Design" } });
  await Promise.all([frame.getByText("Design").first().waitFor(), there.getByText("Design").first().waitFor()]);
  expect(await call("apps_read_config", { appId: "kanban", filename: "board.json" }).then((text) => text.split('Design').length - 1)).toBe(1);
  await call("window_close", { windowId: "kanban" });
  const again = await openApp(page, call, "kanban");
  await again.frame.getByText("Design").first().waitFor();
  expect(await again.frame.locator("[data-card]").count()).toBe(1);
});

it("the calculator calculates for both, and says what is wrong", async () => {
  const { page, call } = await openSession();
  const { frame } = await openApp(page, call, "calculator");
  expect(await call("window_app_command", { windowId: "calculator", command: "calculate", params: { expression: "(2+3)*4^2" } })).toContain("80");
  const wrong = call("window_app_command", { windowId: "calculator", command: "calculate", params: { expression: "2+" } });
  await expect(wrong).rejects.toThrow("something is missing at the end");
  await frame.getByRole("textbox", { name: "Expression" }).fill("ans/4");
  await page.keyboard.press("Enter");
  await until(() => call("window_app_query", { windowId: "calculator", stateKey: "last" })).toContain('"result":20');
});
