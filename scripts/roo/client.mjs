// Lets a client with node-ipc, as Roo-Code's own, use sessions of a real hub through its IPC socket. Every
// message is checked with the schemas of @roo-code/types; connections are cut, and the hub is killed with -9
// in the middle of answers. EVERDESK_BINARY is the hub, ROO_PACKAGES the folder with node_modules.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { allowInDesktop, freePort, listens, until } from "../npm/harness.mjs";

const require = createRequire(join(process.env.ROO_PACKAGES, "package.json"));
const { IPCModule } = require("node-ipc");
const { WebSocket } = require("ws");
const { ipcMessageSchema, rooCodeEventsSchema } = require("@roo-code/types");
assert.ok(ipcMessageSchema && rooCodeEventsSchema);

/** A hub that can be killed and started again. */
class Hub {
  static async start(folder, store = `file:${join(folder, "data")}`, name = "roo") {
    const hub = new Hub();
    Object.assign(hub, { folder, store, port: await freePort(), socket: join(folder, "run", `${name}.sock`) });
    hub.url = `http://127.0.0.1:${hub.port}`;
    await hub.launch();
    return hub;
  }

  async launch() {
    this.process = spawn(process.env.EVERDESK_BINARY, [
      "serve", "--addr", `127.0.0.1:${this.port}`, "--apps-addr", "off", "--store", this.store, "--files-dir", join(this.folder, "files"), "--provider", "demo",
      "--rate-limits", "off", "--auth", "none", "--lease", "2s", "--log-level", "error", "--ipc-socket", this.socket,
    ], { cwd: this.folder, stdio: ["ignore", "ignore", "inherit"] });
    this.ended = new Promise((done) => this.process.once("exit", done));
    await until("the hub is ready", async () => (await fetch(`${this.url}/readyz`).catch(() => undefined))?.ok);
  }

  async kill() {
    this.process.kill("SIGKILL");
    await this.ended;
  }

  /** Sends a message to a session as a tab does. */
  send(session, type, data) {
    const tab = new WebSocket(`${this.url.replace("http", "ws")}/ws/${session}`, "everdesk.v2");
    tab.on("open", () => tab.send(JSON.stringify({ type, message_id: `m-${Math.random()}`, data })));
    return tab;
  }
}

let received = 0;
let rejected = 0;
const names = new Set();
const says = new Set();

/** A client like IpcClient of Roo-Code, which remembers all events and the newest version of each row. */
class Client {
  constructor(hub) {
    this.ipc = new IPCModule();
    Object.assign(this.ipc.config, { silent: true, id: `test-${Math.random()}` });
    this.events = [];
    this.errors = [];
    this.rows = new Map();
    this.acks = 0;
    this.ipc.connectTo("hub", hub.socket, () => {
      this.socket = this.ipc.of.hub;
      this.socket.on("message", (data) => this.take(data));
    });
  }

  take(data) {
    received++;
    const result = ipcMessageSchema.safeParse(data);
    if (!result.success) {
      rejected++;
      console.log("rejected:", JSON.stringify(data), JSON.stringify(result.error.issues));
      return;
    }
    const message = result.data;
    if (message.type === "Ack") {
      this.id = message.data.clientId;
      this.acks++;
      return;
    }
    this.seq = data.seq ?? this.seq;
    if (data.error) this.errors.push(data.error);
    const { eventName, payload } = message.data;
    names.add(eventName);
    this.events.push({ name: eventName, payload });
    if (eventName !== "message") return;
    const { taskId, message: row } = payload[0];
    says.add(row.say ?? `ask ${row.ask}`);
    if (!data.error) this.rows.set(row.ts, { ...row, taskId });
  }

  command(commandName, data, more) {
    this.socket.emit("message", { type: "TaskCommand", origin: "client", clientId: this.id, data: { commandName, ...(data === undefined ? {} : { data }), ...more } });
  }

  ready() {
    return until("the client has an id", () => this.id);
  }

  count(name) {
    return this.events.filter((e) => e.name === name).length;
  }

  async wait(name, more = 1) {
    const want = this.count(name) + more;
    await until(`${name} comes, after ${this.events.map((e) => e.name).join(" ")}`, () => this.count(name) >= want);
    return this.events.findLast((e) => e.name === name).payload;
  }

  /** Waits until the task, not a subtask of it, completes once more. */
  async completed() {
    const count = () => this.events.filter((e) => e.name === "taskCompleted" && !e.payload[3].isSubtask).length;
    const want = count() + 1;
    await until(`the task completes, after ${this.events.map((e) => e.name).join(" ")}`, () => count() >= want);
    return this.events.findLast((e) => e.name === "taskCompleted").payload;
  }

  /** Starts a task and waits until it has completed. */
  async start(text, configuration = {}) {
    const done = this.completed();
    this.command("StartNewTask", { configuration, text });
    [this.task] = await done;
    return this.task;
  }

  async say(text) {
    const done = this.completed();
    this.command("SendMessage", { text });
    return done;
  }

  texts(partial = false) {
    return [...this.rows.values()].filter((r) => r.say === "text" && (r.partial ?? false) === partial).map((r) => r.text);
  }

  /** Leaves the task, which the next client of this process would go on with, and disconnects. */
  async close() {
    if (this.count("taskFocused") > 0) {
      const left = this.wait("taskUnfocused");
      this.command("CloseTask");
      await left;
    }
    this.ipc.disconnect("hub");
  }
}

const words = (n) => Array.from({ length: n }, (_, i) => `w${i + 1}`).join(" ");

const tests = {
  async "the socket is closed for others"(hub) {
    assert.equal((await stat(hub.socket)).mode & 0o777, 0o600);
    assert.equal((await stat(join(hub.folder, "run"))).mode & 0o777, 0o700);
  },

  async "texts, thinking, tools, subtasks, token sums"(hub, c) {
    await c.start('/think Let me see.\n/window w1 Notes | # Hi\n/call window:create {"windowId":7}\n/task web /say sub\n/usage 100 20\n/stream 60 200', { mode: "code" });
    assert.match(c.texts().join("|"), new RegExp(words(60)));
    assert.deepEqual(c.texts(true), [], "no row may stay partial");
    for (const name of ["taskCreated", "taskFocused", "taskStarted", "taskSpawned", "taskDelegated", "taskPaused", "taskUnpaused", "taskUnfocused",
      "taskDelegationCompleted", "taskDelegationResumed", "taskModeSwitched", "taskTokenUsageUpdated", "taskToolFailed", "taskIdle"]) {
      assert.ok(c.count(name) > 0, `no ${name}`);
    }
    const [, tokens, tools, { isSubtask }] = c.events.findLast((e) => e.name === "taskCompleted").payload;
    assert.ok(tokens.totalTokensIn >= 100 && tokens.totalTokensOut >= 20, JSON.stringify(tokens));
    assert.ok(tools.custom_tool.attempts > 0 && !isSubtask);
    const sums = [...c.rows.values()].filter((r) => r.say === "api_req_started" && r.taskId === c.task).map((r) => JSON.parse(r.text));
    assert.equal(sums.reduce((n, s) => n + s.tokensIn, 0), tokens.totalTokensIn);
    assert.ok(c.events.some((e) => e.name === "message" && e.payload[0].message.partial), "the text did not grow");
  },

  async "a question is answered by words, a permission is not"(hub, c) {
    const asked = c.wait("taskInteractive");
    c.command("StartNewTask", { configuration: {}, text: "/ask Which?\n/say After." });
    await asked;
    await c.say("blue");
    assert.match(c.texts().join("|"), /blue[^]*After\./);
    assert.ok(c.count("taskAskResponded") > 0);
    const asks = c.wait("taskInteractive");
    c.command("SendMessage", { text: '/call shell {"command":"git push"}\n/say Pushed.' });
    await asks;
    const open = [...c.rows.values()].findLast((r) => r.type === "ask");
    c.command("SendMessage", { text: "yes, do it" });
    await until("the message waits or is taken", () => c.count("queuedMessagesUpdated") > 0 || [...c.rows.values()].some((r) => r.text === "yes, do it"));
    assert.ok(!c.rows.get(open.ts).isAnswered, "words granted a permission");
    c.command("CancelTask");
    await c.wait("taskAborted");
  },

  async "a permission that a tab gives"(hub, c) {
    const asked = c.wait("taskInteractive");
    const done = c.completed();
    c.command("StartNewTask", { configuration: {}, text: '/call shell {"command":"git push"}\n/say Pushed.' });
    const [task] = await asked;
    await allowInDesktop(WebSocket, hub.url, task);
    await done;
    assert.match(c.texts().join("|"), /allowed it[^]*Pushed\./);
    assert.ok(c.count("taskAskResponded") > 0);
  },

  async "rules of the configuration approve"(hub, c) {
    await c.start('/call shell {"command":"git status"}\n/say Done.', { autoApprovalEnabled: true, alwaysAllowExecute: true, allowedCommands: ["git status"] });
    assert.match(c.texts().join("|"), /Done\./);
    assert.equal(c.count("taskInteractive"), 0);
  },

  async "condense"(hub, c) {
    const task = await c.start("/say One.");
    await c.say("/say Two.");
    const tab = hub.send(task, "CONDENSE", { monitorId: "monitor-0" });
    await until("the summary is there", () => [...c.rows.values()].some((r) => r.say === "condense_context" && r.contextCondense));
    tab.terminate();
  },

  async "lists and errors"(hub, c) {
    c.command("GetModes");
    c.command("GetModels");
    c.command("GetCommands");
    const [modes] = await c.wait("modesResponse");
    assert.ok(modes.some((m) => m.slug === "code"));
    await until("all answers", () => c.count("modelsResponse") && c.count("commandsResponse"));
    c.command("ResumeTask", "ses-nowhere");
    c.command("SendMessage", { text: "to nobody" });
    c.command("StartNewTask", { configuration: { autoApprovalEnabled: "yes" }, text: "never" });
    c.command("Fly");
    await until("four errors", () => c.errors.length >= 4).catch((e) => assert.fail(`${e.message}: ${JSON.stringify(c.errors)}`));
    assert.deepEqual(c.errors.map((e) => e.name), ["WS_SESSION_NOT_FOUND", "WS_SESSION_INVALID_STATE", "WS_INVALID_MESSAGE", "WS_INVALID_MESSAGE"]);
  },

  async "an event of node-ipc itself does nothing"(hub) {
    const raw = connect(hub.socket);
    raw.write('{"type":"connect","data":{}}\f{"type":"message","data":null}\f');
    await until("the answer", async () => raw.read() !== null);
    raw.destroy();
    assert.ok((await fetch(`${hub.url}/readyz`)).ok);
  },

  async "two clients on one task"(hub, c) {
    const task = await c.start("/say First.");
    const other = new Client(hub);
    await other.ready();
    other.command("ResumeTask", task);
    await other.wait("taskIdle");
    const seen = c.completed();
    await other.say("/say Second.");
    await seen;
    assert.deepEqual(c.texts(), ["First.", "Second."]);
    assert.deepEqual(other.texts(), c.texts());
    await other.close();
  },

  async "a cut connection: the process goes on with its task"(hub, c) {
    const done = c.completed();
    c.command("StartNewTask", { configuration: {}, text: "/stream 400 200" });
    await until("some text", () => c.texts(true).length > 0);
    const acks = c.acks;
    c.socket.socket.destroy();
    await until("the client is connected again", () => c.acks > acks);
    await done;
    assert.deepEqual(c.texts(), [words(400)]);
    assert.deepEqual(c.texts(true), []);
  },

  async "a killed hub: ResumeTask with seq"(hub, c) {
    const started = c.wait("taskStarted");
    const done = c.completed();
    c.command("StartNewTask", { configuration: {}, text: "/stream 400 200" });
    const [task] = await started;
    await until("some text", () => c.texts(true).length > 0);
    const acks = c.acks;
    await hub.kill();
    await hub.launch(); // the socket of the killed hub is replaced
    await until("the client is connected again", () => c.acks > acks);
    c.command("ResumeTask", task, { seq: c.seq });
    await done;
    assert.deepEqual(c.texts(), [words(400)]);
    assert.deepEqual(c.texts(true), []);
  },
};

/** A client goes on at the socket of another hub, which takes the session of the killed one over. */
async function takeOver() {
  const redisPort = await freePort();
  const redis = spawn("redis-server", ["--port", String(redisPort), "--save", "", "--appendonly", "no"], { stdio: "ignore" });
  await until("Redis listens", () => listens(redisPort));
  const store = `redis://127.0.0.1:${redisPort}/0`;
  const hubs = [await Hub.start(folder, store, "one"), await Hub.start(folder, store, "two")];
  try {
    const first = new Client(hubs[0]);
    await first.ready();
    const started = first.wait("taskStarted");
    first.command("StartNewTask", { configuration: {}, text: "/stream 400 200" });
    const [task] = await started;
    await until("some text", () => first.texts(true).length > 0);
    await hubs[0].kill();
    const next = new Client(hubs[1]);
    await next.ready();
    next.rows = first.rows;
    const done = next.completed();
    next.command("ResumeTask", task, { seq: first.seq });
    await done;
    assert.deepEqual(next.texts(), [words(400)]);
    assert.deepEqual(next.texts(true), []);
    first.ipc.disconnect("hub");
    await next.close();
  } finally {
    await Promise.all(hubs.map((h) => h.kill()));
    redis.kill("SIGKILL");
  }
}

const folder = await mkdtemp(join(tmpdir(), "roo-"));
let hub;
process.on("exit", () => hub?.process.kill("SIGKILL"));
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(1));
let passed = 0;
try {
  hub = await Hub.start(folder);
  for (const [name, run] of Object.entries(tests)) {
    if (process.argv[2] && !name.includes(process.argv[2])) continue;
    const client = new Client(hub);
    await client.ready();
    await run(hub, client);
    await client.close();
    passed++;
    console.log(`ok  ${name}`);
  }
  if (!process.argv[2]) {
    await takeOver();
    passed++;
    console.log("ok  a killed hub whose session another one takes over");
  }
} finally {
  await hub?.kill();
  await rm(folder, { recursive: true, force: true });
}
assert.equal(rejected, 0, `${rejected} of ${received} payloads are rejected by the schemas`);
console.log(`${passed} checks passed; ${received} messages, 0 rejected; events: ${[...names].sort().join(" ")}; rows: ${[...says].sort().join(", ")}`);
process.exit(0);
