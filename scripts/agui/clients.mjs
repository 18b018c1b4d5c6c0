// Lets the AG-UI clients of npm talk to real hubs: HttpAgent of both generations and the core of CopilotKit.
// Connections are cut and hubs killed with -9 in the middle of answers. EVERDESK_BINARY is the hub,
// AGUI_PACKAGES the folder with node_modules.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { allowInDesktop, freePort, listens, until } from "../npm/harness.mjs";

globalThis.window ??= globalThis; // the core of CopilotKit connects in browsers only
const require = createRequire(join(process.env.AGUI_PACKAGES, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const clients = { "HttpAgent 1.0.0": (await load("@ag-ui/client")).HttpAgent, "HttpAgent 0.0.59": (await load("agui-old")).HttpAgent };
const { CopilotKitCore } = await load("@copilotkit/core");
const { WebSocket } = require("ws");

console.error = () => {}; // the clients print each lost connection
// A reset connection makes the clients reject a promise that nobody holds (facts of both generations).
process.on("unhandledRejection", (reason) => {
  if (!/terminated|abort|fetch failed|socket/i.test(String(reason))) throw reason;
});

const running = new Set();

/** A process that ends with this one. */
function start(binary, args, folder) {
  const child = spawn(binary, args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  running.add(child);
  child.ended = new Promise((done) => child.once("exit", done)).then(() => running.delete(child));
  return child;
}

/** A hub that can be killed and started again. */
class Hub {
  static async start(folder, store) {
    const hub = new Hub();
    Object.assign(hub, { folder, store, port: await freePort() });
    hub.url = `http://127.0.0.1:${hub.port}`;
    await hub.launch();
    return hub;
  }

  async launch() {
    this.process = start(process.env.EVERDESK_BINARY, [
      "serve", "--addr", `127.0.0.1:${this.port}`, "--apps-addr", "off", "--store", this.store, "--provider", "demo", "--rate-limits", "off",
      "--auth", "none", "--files-dir", join(this.folder, "files"), "--lease", "2s", "--log-level", "error",
    ], this.folder);
    await until("the hub is ready", async () => (await fetch(`${this.url}/readyz`).catch(() => undefined))?.ok);
  }

}

/** A conversation of an HttpAgent. */
class Thread {
  constructor(Agent, hub, threadId = randomUUID()) {
    this.agent = new Agent({ url: `${hub.url}/agui`, threadId });
    this.types = new Set();
  }

  async run(input) {
    let failure;
    await this.agent.runAgent({ runId: randomUUID(), ...input }, {
      onEvent: ({ event }) => void this.types.add(event.type),
      onRunErrorEvent: ({ event }) => void (failure = event),
    });
    return failure;
  }

  say(text, input) {
    this.agent.messages.push({ id: randomUUID(), role: "user", content: text });
    return this.run(input);
  }

  get texts() {
    return this.agent.messages.filter((m) => m.role === "assistant" && m.content).map((m) => m.content);
  }

  /** Reads a run until some text has come, then does something to the connection. */
  async interrupted(runId, act) {
    let pieces = 0;
    await this.agent
      .runAgent({ runId }, { onTextMessageContentEvent: () => void (++pieces === 2 && act()) })
      .catch((reason) => assert.match(String(reason), /terminated|abort|fetch failed|socket|network/i));
    assert.ok(pieces >= 2, `the run ended after ${pieces} pieces of text`);
  }
}

const words = (n) => Array.from({ length: n }, (_, i) => `w${i + 1}`).join(" ");

const tests = {
  async "texts, thinking, tools, windows, tasks"(Agent, hub) {
    const t = new Thread(Agent, hub);
    assert.equal(await t.say("/think Let me see.\n/window w1 Notes | # Hi\n/task web /say sub\n/stream 20 200"), undefined);
    for (const type of ["REASONING_MESSAGE_CONTENT", "TOOL_CALL_START", "TOOL_CALL_RESULT", "ACTIVITY_SNAPSHOT", "STATE_DELTA", "TEXT_MESSAGE_CONTENT", "RUN_FINISHED"]) {
      assert.ok(t.types.has(type), `no ${type}`);
    }
    assert.deepEqual(Object.keys(t.agent.state.windows), ["monitor-0/w1"]);
    assert.ok(t.texts[0].endsWith(words(20)), t.texts[0]);
  },

  async "questions and approvals"(Agent, hub) {
    const t = new Thread(Agent, hub);
    await t.say("/ask Which? | red | blue\n/say After.");
    const [question] = t.agent.pendingInterrupts;
    assert.match(question.message, /Which\?/);
    await t.run({ resume: [{ interruptId: question.id, status: "resolved", payload: "blue" }] });
    assert.match(t.texts.at(-1), /blue.*After\./s);
    await t.say('/call shell {"command":"git push"}');
    const [approval] = t.agent.pendingInterrupts;
    await t.run({ resume: [{ interruptId: approval.id, status: "resolved", payload: { approved: true } }] });
    assert.match(t.texts.at(-1), /allowed it/);
  },

  async "a permission that a tab of the desktop gives"(Agent, hub) {
    const t = new Thread(Agent, hub);
    await t.say('/call shell {"command":"git push"}\n/say Done.');
    const [approval] = t.agent.pendingInterrupts;
    await allowInDesktop(WebSocket, hub.url, t.agent.threadId);
    // A late answer of the first one changes nothing; it gets the rest of the turn.
    assert.equal(await t.run({ resume: [{ interruptId: approval.id, status: "resolved", payload: { approved: false } }] }), undefined);
    assert.match(t.texts.at(-1), /allowed it.*Done\./s);
  },

  async "bad input"(Agent, hub) {
    const t = new Thread(Agent, hub);
    t.agent.messages.push({ id: randomUUID(), role: "user", content: "hi" });
    const reason = await t.run({ runId: "x".repeat(100) }).then(() => "none", (e) => e);
    assert.equal(reason.status, 400);
    assert.equal(reason.payload.field, "runId", JSON.stringify(reason.payload));
  },

  async "tools of the frontend"(Agent, hub) {
    const t = new Thread(Agent, hub);
    const tools = [{ name: "pick_colour", description: "Lets the user pick a colour.", parameters: { type: "object", properties: {} } }];
    await t.say('/call client:pick_colour {"of":"the door"}\n/say After.', { tools });
    const [call] = t.agent.messages.at(-1).toolCalls;
    assert.deepEqual([call.function.name, call.function.arguments], ["pick_colour", '{"of":"the door"}']);
    t.agent.messages.push({ id: randomUUID(), role: "tool", toolCallId: call.id, content: "green" });
    assert.equal(await t.run({ tools }), undefined);
    assert.match(t.texts.at(-1), /green.*After\./s);
    assert.equal(t.agent.messages.length, 4, JSON.stringify(t.agent.messages));
  },

  async "a conversation with more rows than the hub holds keeps its beginning"(Agent, hub) {
    const t = new Thread(Agent, hub);
    for (let i = 0; i < 80; i++) await t.say(`/say Answer ${i}.`);
    assert.equal(t.texts.length, 80);
    t.agent.url = `${hub.url}/agui/agent/desktop/connect`;
    await t.run();
    assert.equal(t.texts.length, 80, `after connecting: ${t.texts[0]} is the first`);
    const following = t.run({ forwardedProps: { everdesk: { follow: true } } }).catch((reason) => assert.match(String(reason), /terminated|abort|socket|network/i));
    const other = new Thread(Agent, hub, t.agent.threadId);
    for (const text of ["One more.", "Another one."]) {
      await other.say(`/say ${text}`);
      await until("the turn is shown", () => t.texts.at(-1) === text);
    }
    assert.deepEqual([t.texts.length, t.texts[0]], [82, "Answer 0."]);
    t.agent.abortRun();
    await following;
  },

  async "a failed turn"(Agent, hub) {
    assert.match((await new Thread(Agent, hub).say("/fail It broke.")).message, /It broke\./);
  },

  async "a cut connection"(Agent, hub) {
    const t = new Thread(Agent, hub);
    const runId = randomUUID();
    t.agent.messages.push({ id: randomUUID(), role: "user", content: "/stream 400 200" });
    await t.interrupted(runId, () => t.agent.abortRun());
    assert.equal(await t.run({ runId }), undefined);
    assert.deepEqual(t.texts, [words(400)]);
    assert.equal(t.agent.messages.length, 2);
  },

  async "a cut connection of a message that joined a turn"(Agent, hub) {
    const t = new Thread(Agent, hub);
    t.agent.messages.push({ id: randomUUID(), role: "user", content: "/stream 2000 200" });
    await t.interrupted(randomUUID(), () => t.agent.abortRun());
    const runId = randomUUID();
    t.agent.messages.push({ id: randomUUID(), role: "user", content: "/say Joined." });
    await t.interrupted(runId, () => t.agent.abortRun());
    assert.equal(await t.run({ runId }), undefined);
    assert.equal(t.texts.length, 1);
    assert.match(t.texts[0], new RegExp(`^${words(2000)}\\s+Joined\\.$`));
  },

  async "a killed hub that starts again"(Agent, hub) {
    const t = new Thread(Agent, hub);
    const runId = randomUUID();
    t.agent.messages.push({ id: randomUUID(), role: "user", content: "/stream 400 200" });
    await t.interrupted(runId, () => hub.process.kill("SIGKILL"));
    await hub.process.ended;
    await hub.launch();
    assert.equal(await t.run({ runId }), undefined);
    assert.deepEqual(t.texts, [words(400)]);
  },
};

async function takeOver(Agent, owner, other) {
  const t = new Thread(Agent, owner);
  const runId = randomUUID();
  t.agent.messages.push({ id: randomUUID(), role: "user", content: "/stream 600 200" });
  await t.interrupted(runId, () => owner.process.kill("SIGKILL"));
  t.agent.url = `${other.url}/agui`;
  assert.equal(await t.run({ runId }), undefined);
  assert.deepEqual(t.texts, [words(600)]);
  await owner.process.ended;
  await owner.launch();
}

/** A conversation of CopilotKit's core, connected. */
class Kit {
  static async connect(hub, threadId = randomUUID()) {
    const kit = new Kit();
    kit.core = new CopilotKitCore({ runtimeUrl: `${hub.url}/agui` });
    kit.agent = await until("CopilotKit has found the agent", () => kit.core.getAgent("desktop"));
    kit.agent.threadId = threadId;
    await kit.again();
    return kit;
  }

  again() {
    return this.core.connectAgent({ agent: this.agent });
  }

  say(text) {
    this.agent.addMessage({ id: randomUUID(), role: "user", content: text });
    return this.core.runAgent({ agent: this.agent });
  }

  get texts() {
    return this.agent.messages.filter((m) => m.role === "assistant" && m.content).map((m) => m.content);
  }

  /** Sends a message and kills the hub when some of its answer has come. */
  async interrupted(text, hub) {
    const run = this.say(text).catch((reason) => assert.match(String(reason), /terminated|abort|fetch failed|socket|network/i));
    await until("the answer streams", () => /w20 /.test(this.texts.at(-1) ?? ""));
    hub.process.kill("SIGKILL");
    await hub.process.ended;
    await run;
  }
}

const kitTests = {
  async "a killed hub that starts again"(hub) {
    const kit = await Kit.connect(hub);
    await kit.interrupted("/stream 600 200", hub);
    await hub.launch();
    await kit.again();
    assert.deepEqual(kit.texts, [words(600)]);
  },

  async "a permission that another client gives"(hub) {
    const kit = await Kit.connect(hub);
    await kit.say('/call shell {"command":"git push"}\n/say Done.');
    const other = await Kit.connect(hub, kit.agent.threadId);
    const [approval] = other.agent.pendingInterrupts;
    await other.core.runAgent({ agent: other.agent, resume: [{ interruptId: approval.id, status: "resolved", payload: { approved: true } }] });
    assert.match(other.texts.at(-1), /allowed it.*Done\./s);
    await kit.again();
    assert.deepEqual(kit.texts, other.texts);
    assert.deepEqual(kit.agent.pendingInterrupts, []);
  },

  async "bad input"(hub) {
    const { agent } = await Kit.connect(hub);
    agent.addMessage({ id: randomUUID(), role: "user", content: "hi" });
    const reason = await agent.runAgent({ runId: "x".repeat(100) }).then(() => "none", (e) => e);
    assert.equal(reason.status, 400, String(reason));
    assert.equal(reason.payload.field, "runId", JSON.stringify(reason.payload));
  },
};

async function kitTakeOver(owner, other) {
  const kit = await Kit.connect(owner);
  await kit.interrupted("/stream 600 200", owner);
  const next = await Kit.connect(other, kit.agent.threadId);
  assert.deepEqual(next.texts, [words(600)]);
  await owner.launch();
}

async function copilotKit(hub) {
  const kit = await Kit.connect(hub);
  const { core, agent } = kit;
  const say = (text) => kit.say(text);
  assert.equal(agent.messages.length, 0);
  await say("/window w1 Notes | hi\n/stream 20 200");
  assert.equal(agent.messages.at(-1).content, words(20));
  await say("/ask Which? | red | blue\n/say After.");
  await core.runAgent({ agent, resume: [{ interruptId: agent.pendingInterrupts[0].id, status: "resolved", payload: "blue" }] });
  assert.match(agent.messages.at(-1).content, /blue.*After\./s);
  core.addTool({ name: "pick_colour", description: "Lets the user pick a colour.", handler: async ({ of }) => `green for ${of}` });
  await say('/call client:pick_colour {"of":"the door"}\n/say Painted.');
  assert.match(agent.messages.at(-1).content, /green for the door.*Painted\./s);
  const endless = say("/stream 100000 100");
  await until("the answer streams", () => agent.messages.at(-1).role === "assistant" && /^w1 /.test(agent.messages.at(-1).content ?? ""));
  core.stopAgent({ agent });
  await endless;
  const { agent: reopened } = await Kit.connect(hub, agent.threadId);
  assert.deepEqual(reopened.messages.filter((m) => m.role === "user").length, 4);
}

const folder = await mkdtemp(join(tmpdir(), "everdesk-agui-"));
let passed = 0;
async function check(name, run) {
  await run();
  passed++;
  console.log(`ok  ${name}`);
}
try {
  const single = await Hub.start(folder, `file:${join(folder, "data")}`);
  const redisPort = await freePort();
  start("redis-server", ["--port", String(redisPort), "--save", "", "--appendonly", "no"], folder);
  await until("Redis listens", () => listens(redisPort));
  const store = `redis://127.0.0.1:${redisPort}/0`;
  const replicas = [await Hub.start(folder, store), await Hub.start(folder, store)];
  for (const [client, Agent] of Object.entries(clients)) {
    for (const [name, run] of Object.entries(tests)) await check(`${client}: ${name}`, () => run(Agent, single));
    await check(`${client}: a killed hub whose session another one takes over`, () => takeOver(Agent, replicas[0], replicas[1]));
  }
  await check("CopilotKit 1.74.0", () => copilotKit(single));
  for (const [name, run] of Object.entries(kitTests)) await check(`CopilotKit 1.74.0: ${name}`, () => run(single));
  await check("CopilotKit 1.74.0: a killed hub whose session another one takes over", () => kitTakeOver(replicas[0], replicas[1]));
} finally {
  for (const child of running) child.kill("SIGKILL");
  await Promise.all([...running].map((child) => child.ended));
  await rm(folder, { recursive: true, force: true });
}
console.log(`${passed} checks passed`);
process.exit(0);
