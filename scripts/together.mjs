// Lets clients of npm use one session at the same time, each with its own protocol: HttpAgent of both generations, the
// ACP client through `hub acp`, node-ipc, and a WebSocket of the desktop. The hub is killed with -9 in the middle of an
// answer and started again, or another hub takes the session over. All clients must have the same texts at the end.
// EVERDESK_BINARY is the hub, TOGETHER_PACKAGES the folder with node_modules.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { allowInDesktop, freePort, listens, Tab, until } from "./npm/harness.mjs";

const require = createRequire(join(process.env.TOGETHER_PACKAGES, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const agents = [(await load("@ag-ui/client")).HttpAgent, (await load("agui-old")).HttpAgent];
const { client: newClient, ndJsonStream } = await load("@agentclientprotocol/sdk");
const { IPCModule } = require("node-ipc");
const { ipcMessageSchema } = require("@roo-code/types");
const { WebSocket } = require("ws");

console.error = () => {}; // HttpAgent prints each lost connection
// A reset connection makes HttpAgent reject a promise that nothing handles.
const isLost = (reason) => /terminated|abort|fetch failed|socket|network/i.test(String(reason));
process.on("unhandledRejection", (reason) => {
  if (!isLost(reason)) throw reason;
});

const words = (n) => Array.from({ length: n }, (_, i) => `w${i + 1}`).join(" ");
const folder = await mkdtemp(join(tmpdir(), "together-"));
const running = new Set();

function start(program, args, stdin = "ignore") {
  const child = spawn(program, args, { cwd: folder, stdio: [stdin, stdin, "inherit"] });
  running.add(child);
  child.ended = new Promise((done) => child.once("exit", done)).then(() => running.delete(child));
  return child;
}

/** A hub that can be killed and started again. */
class Hub {
  static async start(name, store) {
    const hub = new Hub();
    Object.assign(hub, { store, port: await freePort(), socket: join(folder, "run", `${name}.sock`) });
    hub.url = `http://127.0.0.1:${hub.port}`;
    await hub.launch();
    return hub;
  }

  async launch() {
    this.process = start(process.env.EVERDESK_BINARY, [
      "serve", "--addr", `127.0.0.1:${this.port}`, "--apps-addr", "off", "--store", this.store, "--files-dir", join(folder, "files"), "--provider", "demo",
      "--rate-limits", "off", "--auth", "none", "--lease", "2s", "--log-level", "error", "--ipc-socket", this.socket,
    ]);
    await until("the hub is ready", async () => (await fetch(`${this.url}/readyz`).catch(() => undefined))?.ok);
  }

  async kill() {
    this.process.kill("SIGKILL");
    await this.process.ended;
  }

  async newSession() {
    const answer = await fetch(`${this.url}/api/sessions`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
    return (await answer.json()).sessionId;
  }
}

/** An HttpAgent that shows each turn of the session by connecting again and again. */
class AguiClient {
  constructor(HttpAgent, hub, session) {
    this.agent = new HttpAgent({ url: `${hub.url}/agui/${session}/connect`, threadId: session });
    this.session = session;
    this.following = this.follow();
  }

  async follow() {
    while (!this.closed) {
      await this.agent.runAgent({ runId: randomUUID(), forwardedProps: { everdesk: { follow: true } } }).catch((reason) => assert.ok(this.closed || isLost(reason), String(reason)));
      await until("the hub is there again", async () => this.closed || (await fetch(this.agent.url.replace(/\/agui.*/, "/readyz")).catch(() => undefined))?.ok);
    }
  }

  moveTo(hub) {
    this.agent.url = `${hub.url}/agui/${this.session}/connect`;
  }

  get texts() {
    return this.agent.messages.filter((m) => m.role === "assistant" && m.content).map((m) => m.content);
  }

  async close() {
    this.closed = true;
    this.agent.abortRun();
    await this.following;
  }
}

/** An editor with its own `hub acp`. */
class Editor {
  constructor(hub) {
    this.process = start(process.env.EVERDESK_BINARY, ["acp", "--server", hub.url], "pipe");
    this.text = "";
    this.asked = this.withdrawn = 0;
    const app = newClient({ name: "together" })
      .onNotification("session/update", ({ params: { update } }) => {
        if (update.sessionUpdate === "agent_message_chunk") this.text += update.content.text;
      })
      .onRequest("session/request_permission", ({ signal }) => {
        this.asked++;
        return new Promise((_, reject) => signal.addEventListener("abort", () => {
          this.withdrawn++;
          reject(new Error("withdrawn"));
        }));
      });
    this.agent = app.connect(ndJsonStream(Writable.toWeb(this.process.stdin), Readable.toWeb(this.process.stdout))).agent;
  }

  async load(session) {
    this.session = session;
    await this.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    await this.agent.request("session/load", { sessionId: session, cwd: folder, mcpServers: [] });
  }

  prompt(text) {
    return this.agent.request("session/prompt", { sessionId: this.session, prompt: [{ type: "text", text }] });
  }

  close() {
    this.process.stdin.end();
    return this.process.ended;
  }
}

/** A script with node-ipc. It resumes its task when it is connected again. */
class Script {
  constructor(hub, session) {
    Object.assign(this, { session, rows: new Map() });
    this.connect(hub);
  }

  connect(hub) {
    this.ipc = new IPCModule();
    Object.assign(this.ipc.config, { silent: true, id: `together-${randomUUID()}` });
    this.ipc.connectTo("hub", hub.socket, () => this.ipc.of.hub.on("message", (data) => this.take(data)));
  }

  take(data) {
    const { type, data: event } = ipcMessageSchema.parse(data);
    if (type === "Ack") {
      this.id = event.clientId;
      return this.command("ResumeTask", this.session, { seq: this.seq });
    }
    this.seq = data.seq ?? this.seq;
    if (event.eventName !== "message") return;
    const [{ taskId, message }] = event.payload;
    if (taskId === this.session) this.rows.set(message.ts, message); // the process may go on with an older task at first
  }

  command(commandName, data, more) {
    this.ipc.of.hub.emit("message", { type: "TaskCommand", origin: "client", clientId: this.id, data: { commandName, data, ...more } });
  }

  get texts() {
    return [...this.rows].sort(([a], [b]) => a - b).map(([, row]) => row).filter((row) => row.say === "text" && !row.partial).map((row) => row.text);
  }

  moveTo(hub) {
    this.close();
    this.connect(hub);
  }

  close() {
    this.ipc.disconnect("hub");
  }
}

/** The texts of the conversation in the desktop, by a tab that opens anew. */
async function desktopTexts(hub, session) {
  const tab = new Tab(WebSocket, hub.url, session);
  const { recent_messages: rows } = await tab.state();
  tab.close();
  return rows.filter((row) => row.say === "text").map((row) => row.text);
}

/** All clients on one session. */
class Together {
  static async open(hub, editorsHub = hub) {
    const all = new Together();
    all.session = await hub.newSession();
    all.agui = agents.map((HttpAgent) => new AguiClient(HttpAgent, hub, all.session));
    all.editor = new Editor(editorsHub);
    await all.editor.load(all.session);
    all.script = new Script(hub, all.session);
    await until("the script is connected", () => all.script.id);
    return all;
  }

  /** Waits until every client has some text of the present answer. */
  streams() {
    const seen = () => [...this.agui.map((c) => c.texts.at(-1) ?? ""), this.editor.text, [...this.script.rows.values()].findLast((row) => row.say === "text")?.text ?? ""];
    return until(() => `all clients have a part of the answer: ${JSON.stringify(seen().map((text) => text.slice(-40)))}`, () => seen().every((text) => text.includes("w20 ")));
  }

  /** Checks that every client has the texts, character by character. */
  async have(hub, texts) {
    const whole = texts.join("");
    const seen = () => [...this.agui.map((c) => c.texts), this.script.texts];
    await until(
      () => `all clients have ${texts.length} texts; they have ${JSON.stringify(seen().map((all) => all.map((text) => text.slice(-40))))}, the editor ${this.editor.text.slice(-40)}`,
      () => seen().every((all) => all.join("").length >= whole.length) && this.editor.text.length >= whole.length,
    );
    for (const all of seen()) assert.deepEqual(all, texts);
    assert.equal(this.editor.text, whole);
    assert.deepEqual(await desktopTexts(hub, this.session), texts);
  }

  async close() {
    this.script.close();
    await Promise.all([...this.agui.map((c) => c.close()), this.editor.close()]);
  }
}

const tests = {
  async "a stream, and messages of every client"(hub) {
    const all = await Together.open(hub);
    assert.deepEqual(await all.editor.prompt("/stream 200 100"), { stopReason: "end_turn" });
    await all.have(hub, [words(200)]);
    all.script.command("SendMessage", { text: "/say From the script." });
    await all.have(hub, [words(200), "From the script."]);
    const tab = new Tab(WebSocket, hub.url, all.session);
    await tab.state();
    tab.send("USER_MESSAGE", { content: "/say From the desktop." });
    await all.have(hub, [words(200), "From the script.", "From the desktop."]);
    tab.close();
    const own = new agents[0]({ url: `${hub.url}/agui/${all.session}`, threadId: all.session });
    own.messages.push({ id: randomUUID(), role: "user", content: "/say From an HttpAgent." });
    await own.runAgent({ runId: randomUUID() });
    await all.have(hub, [words(200), "From the script.", "From the desktop.", "From an HttpAgent."]);
    await all.close();
  },

  async "a permission that a tab of the desktop gives"(hub) {
    const all = await Together.open(hub);
    const answer = all.editor.prompt('/call shell {"command":"git push"}\n/say Pushed.');
    await until("all clients show the question", () => all.editor.asked === 1 && all.agui.every((c) => c.agent.pendingInterrupts.length === 1) && [...all.script.rows.values()].some((row) => row.type === "ask"));
    await allowInDesktop(WebSocket, hub.url, all.session);
    assert.deepEqual(await answer, { stopReason: "end_turn" });
    await until("the question of the editor is withdrawn", () => all.editor.withdrawn === 1);
    const texts = await desktopTexts(hub, all.session);
    assert.match(texts.join(""), /allowed it[^]*Pushed\./);
    const seen = () => [...all.agui.map((c) => c.texts.join("")), all.script.texts.join(""), all.editor.text];
    await until(() => `all clients have ${JSON.stringify(texts)}; they have ${JSON.stringify(seen())}`, () => seen().every((text) => text === texts.join("")));
    await all.close();
  },

  async "a killed hub that starts again"(hub) {
    const all = await Together.open(hub);
    const answer = all.editor.prompt("/stream 2000 200");
    await all.streams();
    await hub.kill();
    await hub.launch();
    assert.deepEqual(await answer, { stopReason: "end_turn" });
    await all.have(hub, [words(2000)]);
    await all.close();
  },
};

/** The editor is at the hub that stays, the other clients move to it from the hub that is killed. */
async function takeOver(owner, other) {
  const all = await Together.open(owner, other);
  const answer = all.editor.prompt("/stream 2000 200");
  await all.streams();
  await owner.kill();
  for (const client of [...all.agui, all.script]) client.moveTo(other);
  assert.deepEqual(await answer, { stopReason: "end_turn" });
  await all.have(other, [words(2000)]);
  await all.close();
}

for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(1));
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
let passed = 0;
async function check(name, run) {
  if (process.argv[2] && !name.includes(process.argv[2])) return;
  await run();
  passed++;
  console.log(`ok  ${name}`);
}
try {
  const single = await Hub.start("single", `file:${join(folder, "data")}`);
  for (const [name, run] of Object.entries(tests)) await check(name, () => run(single));
  await check("a killed hub whose session another one takes over", async () => {
    const redisPort = await freePort();
    start("redis-server", ["--port", String(redisPort), "--save", "", "--appendonly", "no"]);
    await until("Redis listens", () => listens(redisPort));
    const store = `redis://127.0.0.1:${redisPort}/0`;
    await takeOver(await Hub.start("one", store), await Hub.start("two", store));
  });
} finally {
  for (const child of running) child.kill("SIGKILL");
  await Promise.all([...running].map((child) => child.ended));
  await rm(folder, { recursive: true, force: true });
}
console.log(`${passed} checks passed`);
process.exit(0);
