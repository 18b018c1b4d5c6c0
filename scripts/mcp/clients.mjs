// Lets the official MCP client (npm) and the command line of the Inspector list and call every tool of a
// real hub, over HTTP and through the stdio bridge `hub mcp`. A token is revoked, and the hub is killed
// with -9, while a call runs. EVERDESK_BINARY is the hub, MCP_PACKAGES the folder with node_modules.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const hubBinary = process.env.EVERDESK_BINARY;
const packages = process.env.MCP_PACKAGES;
const require = createRequire(join(packages, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load("client/index.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const { StdioClientTransport } = await load("client/stdio.js");
const run = promisify(execFile);

/** A hub on a fixed port that can be killed and started again. */
class Hub {
  static async start() {
    const hub = new Hub();
    hub.folder = await mkdtemp(join(tmpdir(), "everdesk-mcp-"));
    hub.port = await freePort();
    hub.url = `http://127.0.0.1:${hub.port}`;
    await hub.launch();
    return hub;
  }

  async launch() {
    const args = ["serve", "--addr", `127.0.0.1:${this.port}`, "--store", `file:${join(this.folder, "data")}`, "--provider", "demo", "--rate-limits", "off", "--store-sync", "always", "--log-level", "error"];
    this.process = spawn(hubBinary, args, { cwd: this.folder, stdio: ["ignore", "ignore", "inherit"] });
    this.exit = new Promise((done) => this.process.once("exit", done));
    await until("the hub is ready", async () => (await fetch(`${this.url}/readyz`).catch(() => undefined))?.ok);
    this.token = (await readFile(join(this.folder, "data", "token"), "utf8")).trim();
  }

  async kill() {
    this.process.kill("SIGKILL");
    await this.exit;
  }

  async ask(method, path, body) {
    const headers = { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json" };
    const r = await fetch(this.url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    assert.ok(r.ok, `${method} ${path} is answered with ${r.status}, want a success: ${r.ok ? "" : await r.text()}`);
    return r.status === 204 ? undefined : r.json();
  }

  async stop() {
    this.process.kill("SIGTERM");
    await this.exit;
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

async function until(what, is) {
  for (let i = 0; i < 1200; i++) {
    if (await is()) return;
    await sleep(50);
  }
  throw new Error(`${what}: still not so after a minute, want it`);
}

/** Arguments for tools, and what their results contain. TestEveryToolOverMCP in cmd/hub calls the others, too. Those with an exclamation mark give an error result. */
const calls = {
  window_create: [{ windowId: "note", title: "Note", content: { renderer: "markdown", content: "# Hi" } }, 'window "note"'],
  window_create_component: [{ windowId: "form", title: "Form", components: [{ type: "button", label: "OK", action: "ok" }] }, 'window "form"'],
  window_update: [{ windowId: "note", operation: "append", content: "more" }, 'window "note"'],
  window_update_component: [{ windowId: "form", components: [{ type: "text", content: "x" }] }, 'window "form"'],
  window_move: [{ windowId: "note", x: 40, width: 520 }, 'window "note"'],
  window_lock: [{ windowId: "note" }, 'window "note"'],
  window_unlock: [{ windowId: "note" }, 'window "note"'],
  window_list: [{}, '"note"'],
  window_view: [{ windowId: "note" }, "# Hi"],
  window_close: [{ windowId: "form" }, 'window "form"'],
  window_show_notification: [{ id: "n", title: "T", body: "B" }, ""],
  window_dismiss_notification: [{ id: "n" }, ""],
  window_show_toast: [{ id: "t", message: "M", duration: 600000 }, ""],
  window_dismiss_toast: [{ id: "t" }, ""],
  window_app_query: [{ windowId: "note", stateKey: "manifest" }, "!no app"],
  window_app_command: [{ windowId: "note", command: "go" }, "!no app"],
  storage_write: [{ path: "a.txt", content: "text" }, "a.txt"],
  storage_read: [{ path: "a.txt" }, "text"],
  storage_list: [{}, "a.txt"],
  storage_delete: [{ path: "a.txt" }, "a.txt"],
  system_get_info: [{}, "everdesk"],
  system_memorize: [{ content: "likes tea" }, ""],
  system_list_memories: [{}, "tea"],
  system_forget: [{ id: "mem-0" }, "!"],
  system_set_config: [{ section: "settings", language: "en" }, "settings"],
  system_get_config: [{}, "hooks"],
  system_remove_config: [{ hookId: "hook-99" }, "!hook-99"],
  system_reload_cached: [{ cacheId: "reload-99" }, "!reload-99"],
  system_list_reload_options: [{}, "["],
  system_skill: [{ name: "forms" }, "form"],
  system_http_get: [{ url: "https://not-allowed.example/" }, "!"],
  system_http_post: [{ url: "https://not-allowed.example/", body: "x" }, "!"],
  task_run: [{ objective: "/say done" }, "completed"],
};

/** Tools that wait for the user. They are called when a token is revoked and when the hub is killed. */
const asking = {
  user_ask: { title: "T", message: "M", options: ["a", "b"] },
  user_request: { title: "T", message: "M" },
  system_request_allowing_domain: { domain: "not-allowed.example" },
};

function check(name, result, via) {
  const wanted = calls[name][1];
  const text = result.content?.[0]?.text ?? "";
  const isError = result.isError === true;
  assert.equal(isError, wanted.startsWith("!"), `${via}: ${name} gives ${text}, want ${wanted}`);
  assert.ok(text.includes(wanted.replace("!", "")), `${via}: ${name} gives ${text}, want ${wanted}`);
}

/** Lists all tools with a client and calls those that do not wait for the user. */
async function callAll(client, via) {
  const { tools } = await client.listTools();
  const names = tools.map((t) => t.name).sort();
  const missing = [...Object.keys(calls), ...Object.keys(asking)].filter((name) => !names.includes(name));
  assert.deepEqual(missing, [], `${via}: tools that are not listed`);
  for (const tool of tools) {
    assert.ok(tool.title && typeof tool.annotations?.readOnlyHint === "boolean" && typeof tool.annotations?.destructiveHint === "boolean", `${via}: ${tool.name} is not annotated`);
  }
  let structured = 0;
  for (const name of Object.keys(calls)) {
    const result = await client.callTool({ name, arguments: calls[name][0] }).catch((error) => assert.fail(`${via}: ${name}: ${error}`));
    check(name, result, via);
    const schema = tools.find((t) => t.name === name).outputSchema;
    if (schema !== undefined && !result.isError) {
      assert.equal(typeof result.structuredContent, "object", `${via}: ${name} has no structured content`);
      structured++;
    }
  }
  console.log(`ok ${via}: ${tools.length} tools listed, ${Object.keys(calls).length} called, ${structured} with structured content`);
}

async function overHTTP(hub, token) {
  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp`), { requestInit }));
  return client;
}

async function overStdio(hub, session, env, ...flags) {
  const client = new Client({ name: "test", version: "1" });
  const args = ["mcp", "--server", hub.url, ...flags, session];
  await client.connect(new StdioClientTransport({ command: hubBinary, args, env, stderr: "ignore" }));
  return client;
}

/** Waits until the session asks the user n questions. */
async function prompted(hub, session, n) {
  await until("the user is asked", async () => (await hub.ask("GET", `/api/sessions/${session}/snapshot`)).prompts?.length === n);
}

/** Runs the Inspector. It ends with a code of its own if a tool gives an error result. */
async function inspect(...args) {
  const launcher = join(packages, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
  const { stdout } = await run(process.execPath, [launcher, "--cli", ...args], { maxBuffer: 16 << 20 }).catch((error) => {
    if (error.stdout?.includes('"isError": true')) return error;
    throw error;
  });
  return JSON.parse(stdout);
}

/** The tool arguments in the form that the Inspector takes. */
function toolArgs(values) {
  return Object.entries(values).flatMap(([k, v]) => ["--tool-arg", `${k}=${typeof v === "string" ? v : JSON.stringify(v)}`]);
}

const hub = await Hub.start();
try {
  // Nobody answers here: after a file was read the hub would ask before anything is deleted or remembered.
  await hub.ask("PUT", "/api/auto-approval", { rules: { autoApprovalEnabled: true, alwaysAllowWrite: true, alwaysAllowAfterOutsideData: true }, version: 0 });
  const { sessionId: session } = await hub.ask("POST", "/api/sessions", { title: "MCP" });
  const newToken = () => hub.ask("POST", `/api/sessions/${session}/mcp-tokens`, { name: "SDK", profile: "all", ttl: 3600 });
  const first = await newToken();

  const http = await overHTTP(hub, first.token);
  await callAll(http, "SDK over HTTP");
  const stdio = await overStdio(hub, session, { HUB_TOKEN: hub.token }, "--profile", "all", "--name", "bridge");
  await callAll(stdio, "SDK over hub mcp");
  const given = await overStdio(hub, session, { HUB_MCP_TOKEN: first.token });
  check("window_list", await given.callTool({ name: "window_list", arguments: {} }), "hub mcp with a given token");
  await given.close();

  const target = [`${hub.url}/mcp`, "--transport", "http", "--header", `Authorization: Bearer ${first.token}`];
  const listed = await inspect(...target, "--method", "tools/list");
  assert.equal(listed.tools.length, (await http.listTools()).tools.length, "Inspector: tools");
  for (const name of Object.keys(calls)) {
    check(name, await inspect(...target, "--method", "tools/call", "--tool-name", name, ...toolArgs(calls[name][0])), "Inspector");
  }
  console.log(`ok Inspector over HTTP: ${listed.tools.length} tools listed, ${Object.keys(calls).length} called`);

  // Revoked while a call runs: the call ends, and the token is not accepted any more.
  const second = await newToken();
  const doomed = await overHTTP(hub, second.token);
  const cut = doomed.callTool({ name: "user_request", arguments: asking.user_request }).catch((error) => ({ isError: true, content: [{ text: String(error) }] }));
  await prompted(hub, session, 1);
  await hub.ask("DELETE", `/api/sessions/${session}/mcp-tokens/${second.id}`);
  const result = await cut;
  assert.ok(result.isError, `a revoked call gives ${JSON.stringify(result)}, want an error`);
  const refused = await fetch(`${hub.url}/mcp`, { method: "POST", headers: { Authorization: `Bearer ${second.token}` }, body: "{}" });
  assert.equal(refused.status, 401, "a revoked token");
  assert.match(refused.headers.get("www-authenticate"), /^Bearer .*invalid_token/);
  console.log(`ok revoked during a call: ${result.content[0].text}`);

  // Killed while calls run: they end with an error, and both clients go on.
  const lost = Promise.all([http, stdio].map((c) => c.callTool({ name: "user_ask", arguments: asking.user_ask }).catch((error) => ({ isError: true, content: [{ text: String(error) }] }))));
  await prompted(hub, session, 2);
  await hub.kill();
  for (const r of await lost) assert.ok(r.isError, `a call of a killed hub gives ${JSON.stringify(r)}, want an error`);
  const waiting = stdio.callTool({ name: "window_list", arguments: {} }); // the bridge waits for the hub
  await hub.launch();
  check("window_list", await waiting, "hub mcp after the kill");
  check("window_list", await http.callTool({ name: "window_list", arguments: {} }), "HTTP after the kill");
  console.log("ok killed with -9 during calls: both clients go on");

  await Promise.all([http.close(), stdio.close(), doomed.close()]);
  await until("the bridge has revoked its token", async () => {
    const { tokens } = await hub.ask("GET", `/api/sessions/${session}/mcp-tokens`);
    return tokens.every((t) => t.name !== "bridge");
  });
  console.log("ok the bridge has revoked its token");

  // A bridge that is killed cannot revoke its token, which expires soon after. Until then it is renewed.
  const orphan = await overStdio(hub, session, { HUB_TOKEN: hub.token }, "--name", "orphan", "--lease", "3s");
  await orphan.listTools();
  const tokenOfOrphan = async () => (await hub.ask("GET", `/api/sessions/${session}/mcp-tokens`)).tokens.find((t) => t.name === "orphan");
  const made = await tokenOfOrphan();
  await until("the bridge has renewed its token twice", async () => Date.parse((await tokenOfOrphan()).expiresAt) > Date.parse(made.expiresAt) + 2000);
  process.kill(orphan.transport.pid, "SIGKILL");
  const killed = Date.now();
  await until("the token has expired", async () => (await tokenOfOrphan()) === undefined);
  console.log(`ok the token of a killed bridge has expired after ${((Date.now() - killed) / 1000).toFixed(1)} s`);
} finally {
  await hub.stop();
}
