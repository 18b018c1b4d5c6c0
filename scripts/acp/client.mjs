// Lets the ACP client of npm use the sessions of a real hub through `hub acp`. The hub is killed with -9 in
// the middle of an answer, and so is `hub acp`. EVERDESK_BINARY is the hub, ACP_PACKAGES the folder with
// node_modules.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { allowInDesktop, freePort, Line, listens, until } from "../npm/harness.mjs";

const require = createRequire(join(process.env.ACP_PACKAGES, "package.json"));
const { WebSocket } = require("ws");
const main = require.resolve("@agentclientprotocol/sdk");
const { client: newClient, ndJsonStream } = await import(pathToFileURL(main));
const binary = process.env.EVERDESK_BINARY;

const running = new Set();
function start(args, stdin, program = binary) {
  const child = spawn(program, args, { cwd: folder, stdio: stdin ? ["pipe", "pipe", "inherit"] : ["ignore", "ignore", "inherit"] });
  running.add(child);
  child.ended = new Promise((done) => child.once("exit", done)).then(() => running.delete(child));
  return child;
}

const folder = await mkdtemp(join(tmpdir(), "everdesk-acp-"));
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
let hub;
async function launch() {
  hub = start(["serve", "--addr", `127.0.0.1:${port}`, "--apps-addr", "off", "--auth", "none", "--store", `file:${join(folder, "data")}`, "--provider", "demo", "--rate-limits", "off", "--log-level", "error"]);
  await until("the hub is ready", async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok);
}

/** An editor: the client of npm with its own `hub acp`. */
class Editor {
  constructor(choose, server = url) {
    this.process = start(["acp", "--server", server], true);
    this.updates = [];
    this.asked = this.withdrawn = 0;
    const app = newClient({ name: "test" })
      .onNotification("session/update", ({ params }) => void this.updates.push(params.update))
      .onRequest("session/request_permission", ({ params, signal }) => {
        this.asked++;
        if (choose) return { outcome: { outcome: "selected", optionId: choose(params.options.map((o) => o.optionId)) } };
        return new Promise((_, reject) => signal.addEventListener("abort", () => {
          this.withdrawn++;
          reject(new Error("withdrawn"));
        }));
      });
    this.agent = app.connect(ndJsonStream(Writable.toWeb(this.process.stdin), Readable.toWeb(this.process.stdout))).agent;
  }

  async open() {
    await this.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    return (await this.agent.request("session/new", { cwd: folder, mcpServers: [] })).sessionId;
  }

  prompt(sessionId, text) {
    return this.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  }

  text(kind = "agent_message_chunk") {
    return this.updates.filter((u) => u.sessionUpdate === kind).map((u) => u.content.text).join("");
  }
}

const words = (n) => Array.from({ length: n }, (_, i) => `w${i + 1}`).join(" ");
let passed = 0;
async function check(name, run) {
  await run();
  passed++;
  console.log(`ok  ${name}`);
}

try {
  await launch();
  const editor = new Editor((options) => options.find((o) => o === "allow" || o === "blue"));
  const id = await editor.open();
  await check("a prompt with thinking, tools and a window", async () => {
    assert.deepEqual(await editor.prompt(id, "/think Hm.\n/window w1 Notes | hi\n/stream 20 200"), { stopReason: "end_turn" });
    assert.equal(editor.text(), words(20));
    assert.equal(editor.text("agent_thought_chunk"), "Hm.");
    const end = editor.updates.find((u) => u.sessionUpdate === "tool_call_update");
    assert.equal(end.status, "completed");
    assert.ok(end.content.some((c) => c.content.type === "resource_link" && c.content.uri.includes(id)));
  });
  await check("questions and permissions", async () => {
    await editor.prompt(id, '/ask Which? | red | blue\n/call shell {"command":"git push"}');
    assert.match(editor.text(), /blue.*allowed it/s);
  });
  await check("a plan", async () => {
    await editor.agent.request("session/set_mode", { sessionId: id, modeId: "plan" });
    const plan = editor.prompt(id, "organise a trip");
    await until("the plan is there", () => editor.updates.some((u) => u.sessionUpdate === "plan" && u.entries.length > 0));
    await until("its prompt is cancelled", async () => {
      await editor.agent.notify("session/cancel", { sessionId: id });
      return Promise.race([plan.then(() => true, () => true), sleep(300).then(() => false)]);
    });
    await editor.agent.request("session/set_mode", { sessionId: id, modeId: "chat" });
  });
  await check("a second editor on the same session, a question answered by the other", async () => {
    const other = new Editor();
    await other.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    const list = await other.agent.request("session/list", {});
    assert.ok(list.sessions.some((s) => s.sessionId === id));
    await other.agent.request("session/load", { sessionId: id, cwd: folder, mcpServers: [] });
    assert.match(other.text(), /blue/);
    await editor.prompt(id, '/call shell {"command":"git push"}\n/say Both.');
    await until("the other has seen it", () => other.text().endsWith("Both."));
    await until("its question is withdrawn", () => other.withdrawn === 1);
    assert.ok(other.text("user_message_chunk").includes("/say Both."));
    assert.deepEqual(await other.prompt(id, '/call shell {"command":"git push"}\n/say Allowed by the other.'), { stopReason: "end_turn" });
    assert.match(other.text(), /allowed it.*Allowed by the other\.$/s);
    other.process.stdin.end();
    await other.process.ended;
  });
  await check("a permission that a tab of the desktop gives", async () => {
    const asking = new Editor();
    const own = await asking.open();
    const answer = asking.prompt(own, '/call shell {"command":"git push"}\n/say Pushed.');
    await until("the editor is asked", () => asking.asked === 1);
    await allowInDesktop(WebSocket, url, own);
    assert.deepEqual(await answer, { stopReason: "end_turn" });
    assert.match(asking.text(), /allowed it.*Pushed\.$/s);
    await until("its question is withdrawn", () => asking.withdrawn === 1);
    asking.process.stdin.end();
  });
  await check("a cut line between hub acp and the hub in the middle of an answer", async () => {
    const line = await Line.to(url);
    const far = new Editor(undefined, line.url);
    const own = await far.open();
    const answer = far.prompt(own, "/stream 800 200");
    for (const word of ["w20 ", "w200 "]) {
      await until(`${word} comes`, () => far.text().includes(word));
      assert.ok(line.cut() > 0, "no connection was cut");
    }
    assert.deepEqual(await answer, { stopReason: "end_turn" });
    assert.equal(far.text(), words(800));
    far.process.stdin.end();
    line.close();
  });
  await check("a killed hub in the middle of an answer", async () => {
    const before = editor.text().length;
    const answer = editor.prompt(id, "/stream 400 200");
    await until("the answer streams", () => editor.text().length > before + 100);
    hub.kill("SIGKILL");
    await hub.ended;
    await launch();
    assert.deepEqual(await answer, { stopReason: "end_turn" });
    assert.equal(editor.text().slice(before), words(400));
  });
  await check("mistakes", async () => {
    for (const [method, params] of [["session/load", { sessionId: "ses-nowhere", cwd: folder, mcpServers: [] }], ["session/set_mode", { sessionId: id, modeId: "sleep" }]]) {
      const reason = await editor.agent.request(method, params).then(() => "none", (e) => e);
      assert.equal(reason.code, -32602, `${method}: ${reason}`);
    }
  });
  await check("a killed hub whose session another one takes over", async () => {
    const redisPort = await freePort();
    start(["--port", String(redisPort), "--save", "", "--appendonly", "no"], false, "redis-server");
    await until("Redis listens", () => listens(redisPort));
    const replica = async () => {
      const port = await freePort();
      const process = start(["serve", "--addr", `127.0.0.1:${port}`, "--apps-addr", "off", "--auth", "none", "--store", `redis://127.0.0.1:${redisPort}/0`, "--files-dir", join(folder, "files"), "--provider", "demo", "--rate-limits", "off", "--lease", "2s", "--log-level", "error"]);
      const url = `http://127.0.0.1:${port}`;
      await until("the replica is ready", async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok);
      return { process, url };
    };
    const owner = await replica();
    const other = await replica();
    const first = new Editor(undefined, owner.url);
    const shared = await first.open();
    await first.prompt(shared, "/say Begun.");
    const second = new Editor(undefined, other.url);
    await second.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    await second.agent.request("session/load", { sessionId: shared, cwd: folder, mcpServers: [] });
    const answer = second.prompt(shared, "/stream 400 200");
    await until("the answer streams", () => second.text().includes("w20 "));
    owner.process.kill("SIGKILL");
    assert.deepEqual(await answer, { stopReason: "end_turn" });
    assert.equal(second.text(), `Begun.${words(400)}`);
  });
  await check("a killed hub acp", async () => {
    const lost = editor.prompt(id, "/stream 300 200").catch(() => "closed");
    const before = editor.text().length;
    await until("the answer streams", () => editor.text().length > before + 50);
    editor.process.kill("SIGKILL");
    assert.equal(await lost, "closed");
    const next = new Editor();
    await next.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    await next.agent.request("session/load", { sessionId: id, cwd: folder, mcpServers: [] });
    await until("the answer is whole", () => next.text().endsWith(words(300)));
  });
} finally {
  for (const child of running) child.kill("SIGKILL");
  await Promise.all([...running].map((child) => child.ended));
  await rm(folder, { recursive: true, force: true });
}
console.log(`${passed} checks passed`);
process.exit(0);
