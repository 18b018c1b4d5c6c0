// The MCP Apps servers of npm, unchanged: each opens its view in two tabs, and again after a reload. `make test-mcp-apps`
// installs them; MCP_APP_PACKAGES is their folder.

import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { BrowserContext, FrameLocator, Page } from "playwright-core";
import { expect, it } from "vitest";
import type { SessionID, WindowState } from "../core/src/index.js";
import { questionCard, until, waitUntilArmed, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture({ flags: ["--user-mcp-commands", "on"] });
const folder = process.env.MCP_APP_PACKAGES ?? "";

interface Tried {
  tool: string;
  input: object;
  /** More arguments of its program. */
  args?: string[];
  /** Whether the view shows what its document alone does not contain: a value of the tool's result or input, or what its library draws. */
  shows: (view: FrameLocator) => Promise<boolean>;
  /** The origins that the view declares and uses. */
  origins?: string[];
  /** Answers the requests of the view to the internet. */
  serve?: (profile: BrowserContext) => Promise<void>;
  /** Problems that the view causes, and that are no fault of the desktop. */
  expects?: RegExp[];
}

/** A PDF file with three pages. */
const paper = fileURLToPath(new URL("harness/paper.pdf", import.meta.url));

const types: Record<string, string> = { ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".png": "image/png", ".jpg": "image/jpeg", ".wasm": "application/wasm" };

/** Serves the library of the map from its npm package, and one colour as every tile, so that the test needs no internet. */
async function serveMap(profile: BrowserContext): Promise<void> {
  const headers = { "access-control-allow-origin": "*" };
  await profile.route("https://cesium.com/**", async (route) => {
    const name = new URL(route.request().url()).pathname.replace(/^\/downloads\/cesiumjs\/releases\/[\d.]+\//, "");
    const body = await readFile(join(folder, "cesium/package", name)).catch(() => undefined);
    await route.fulfill(body === undefined ? { status: 404, headers } : { body, headers, contentType: types[extname(name)] ?? "application/octet-stream" });
  });
  const tile = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  await profile.route("https://*.openstreetmap.org/**", (route) => route.fulfill({ body: tile, headers, contentType: "image/png" }));
}

const has = (selector: string, text: string | RegExp) => async (view: FrameLocator): Promise<boolean> => {
  const found = view.locator(selector).first();
  if ((await found.count()) === 0) return false;
  const shown = (await found.textContent()) ?? "";
  return typeof text === "string" ? shown.includes(text) : text.test(shown);
};

const servers: Record<string, Tried> = {
  "server-basic-vanillajs": { tool: "get-time", input: {}, shows: has("#server-time", /^\d{4}-\d\d-\d\dT/) },
  "server-budget-allocator": { tool: "get-budget-data", input: {}, shows: has("#sliders-container", "Marketing") },
  "server-system-monitor": { tool: "get-system-info", input: {}, shows: has("#info-hostname", hostname()) },
  "server-threejs": {
    tool: "show_threejs_scene",
    input: { code: "const scene = new THREE.Scene(); canvas.dataset.scene = scene.type; const camera = new THREE.PerspectiveCamera(75, width / height, 0.1, 10); const renderer = new THREE.WebGLRenderer({ canvas }); renderer.setSize(width, height); renderer.render(scene, camera);" },
    shows: async (view) => (await view.locator('canvas[data-scene="Scene"]').count()) > 0,
    expects: [/WebGL|GPU|GL Driver/i],
  },
  "server-pdf": {
    tool: "display_pdf",
    input: { url: pathToFileURL(paper).href },
    args: [paper], // the server opens no other file
    shows: has("#total-pages", "of 3"),
    origins: ["https://unpkg.com"],
    expects: [/unpkg|ERR_/i, /localStorage/], // views have no storage
  },
  "server-map": {
    tool: "show-map",
    input: { west: 2.2, south: 48.8, east: 2.4, north: 48.9, label: "Paris" },
    shows: async (view) => (await view.locator(".cesium-widget canvas").count()) > 0,
    origins: ["https://cesium.com", "https://tile.openstreetmap.org"],
    serve: serveMap,
    expects: [/WebGL|GPU|GL Driver/i],
  },
};

const packageOf = (name: string): string => join(folder, "node_modules/@modelcontextprotocol", name);
const modelName = (name: string, tool: string): string => `mcp__${name}__${tool}`;

/** Approves the question that is open or comes next. */
async function approve(page: Page): Promise<void> {
  const allow = questionCard(page).getByRole("button", { name: /^(approve|allow)/i }).first();
  await allow.waitFor();
  await waitUntilArmed(allow);
  await allow.click();
}

/** Whether a view shows what it is to show. Its questions on the way are approved. */
async function isShown(page: Page, w: WindowState, t: Tried): Promise<boolean> {
  if ((await questionCard(page).count()) > 0) await approve(page);
  return t.shows(windowOf(page, w.windowId).frameLocator("iframe"));
}

async function openView(page: Page, session: SessionID, name: string, t: Tried): Promise<WindowState> {
  const bin = JSON.parse(readFileSync(join(packageOf(name), "package.json"), "utf8")) as { bin: Record<string, string> };
  const program = join(packageOf(name), Object.values(bin.bin)[0]!);
  // As pasted from the documentation of the server, with the installed program in place of npx.
  const config = { mcpServers: { [name]: { command: process.execPath, args: [program, "--stdio", ...(t.args ?? [])] } } };
  await desktop.hub.rest.request("POST", "/api/mcp-servers", { config: JSON.stringify(config) });
  await desktop.hub.rest.sendMessage(session, `/call ${modelName(name, t.tool)} ${JSON.stringify(t.input)}`);
  await approve(page);
  const opened = async (): Promise<WindowState[]> => ((await desktop.hub.rest.snapshot(session)).windows ?? []).filter((w) => w.content.renderer === "mcp-app");
  await until(async () => (await opened()).length).toBe(1);
  return (await opened())[0]!;
}

for (const [name, t] of Object.entries(servers)) {
  it(`${name} shows its view in two tabs and after a reload`, async () => {
    desktop.guard.expect(...(t.expects ?? []));
    for (const o of t.origins ?? []) desktop.guard.allowOrigin(o);
    const session = await desktop.hub.rest.newSession(name);
    const profile = await desktop.profile();
    await t.serve?.(profile);
    const page = await desktop.tab({ session, profile });
    const other = await desktop.tab({ session, profile });
    const w = await openView(page, session, name, t);
    const ready = (tab: Page): Promise<string | null> => windowOf(tab, w.windowId).locator("[data-content-state]").last().getAttribute("data-content-state");
    for (const tab of [page, other]) {
      await until(() => ready(tab)).toBe("ready");
      await until(() => isShown(tab, w, t)).toBe(true);
    }
    await page.reload();
    await until(() => ready(page)).toBe("ready");
    await until(() => isShown(page, w, t)).toBe(true);
    if (process.env.E2E_PICTURES !== undefined) await page.screenshot({ path: join(process.env.E2E_PICTURES, `${name}.png`) });
    expect(w.content.renderer).toBe("mcp-app");
  });
}
