// The example page with CopilotKit's own chat and a session: answers, tools, questions, other clients, a killed hub.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Page } from "playwright-core";
import { afterAll, expect, inject, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { count, KitSite, lostConnection, say, times, words } from "./harness/copilotkit.js";
import { questionCard, sendMessage, shownRows, until, waitForRow, waitUntilArmed } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const site = await KitSite.start();
afterAll(() => site.stop());
const { origin } = site;

const run = mkdtempSync(join(tmpdir(), "ipc"));
afterAll(() => rmSync(run, { recursive: true, force: true }));
const socket = join(run, "roo.sock");

const desktop = desktopFixture({ flags: ["--origins", origin, "--ipc-socket", socket] });

async function open(thread: string, token = new URL(desktop.hub.entry).searchParams.get("token") ?? ""): Promise<Page> {
  const page = await (await desktop.profile()).newPage();
  await page.goto(site.address(desktop.hub.url, thread, token));
  await page.locator("textarea").waitFor();
  return page;
}

it("CopilotKit's chat shows an answer once although the hub is killed in the middle, calls tools of its page, and shows the conversation after a reload", async () => {
  desktop.guard.expectLostHub();
  desktop.guard.allowOrigin(origin);
  desktop.guard.expect(...lostConnection);
  const page = await open("kit");
  await say(page, "/stream 1500 200");
  await until(() => count(page, " w40 ")).toBe(1);
  await desktop.hub.kill();
  await desktop.hub.up();
  await until(() => count(page, words(1500))).toBe(1);
  expect(await count(page, " w40 "), "pieces of the answer").toBe(1);
  await say(page, '/call client:set_background {"colour":"rgb(1, 2, 3)"}\n/say Painted.');
  await until(() => count(page, "Painted. ")).toBeGreaterThan(0);
  expect(await page.evaluate(() => document.body.style.background)).toBe("rgb(1, 2, 3)");
  await page.reload();
  await until(() => count(page, words(1500))).toBe(1);
});

const push = '/call shell {"command":"git push"}';

/** Answers the question in the desktop with yes. */
async function allow(tab: Page): Promise<void> {
  const yes = questionCard(tab).getByRole("button", { name: /^(approve|yes|ok|allow|run)/i }).first();
  await waitUntilArmed(yes);
  await yes.click();
  await until(() => questionCard(tab).count()).toBe(0);
}

it("questions are answered in CopilotKit's chat or in the desktop, and the chat goes on", async () => {
  desktop.guard.allowOrigin(origin);
  const session: SessionID = await desktop.hub.rest.newSession();
  const tab = await desktop.tab({ session });
  const page = await open(session);
  const card = page.locator("form[data-question]");
  const button = (name: string) => card.getByRole("button", { name, exact: true });

  await say(page, `${push}\n/say Pushed by the page.`);
  await questionCard(tab).waitFor();
  await button("Approve").click();
  await waitForRow(tab, "Pushed by the page.");
  await until(() => count(page, "allowed it. Pushed by the page.")).toBe(1);
  await until(() => questionCard(tab).count()).toBe(0);

  await say(page, `${push}\n/say Pushed by the desktop.`);
  await button("Approve").waitFor();
  await allow(tab);
  await until(() => count(page, "allowed it. Pushed by the desktop.")).toBe(1);
  await until(() => card.count()).toBe(0);

  // A question that another client's message leads to.
  await sendMessage(tab, `${push}\n/say Not pushed.`);
  await button("Deny").click();
  await until(() => count(page, "Not pushed.")).toBe(2);

  await say(page, "/ask Which colour? | red | blue\n/say Chosen.");
  await button("blue").click();
  await until(() => card.count()).toBe(0);
  await until(() => rowsWith(tab, "Chosen.")).toBe(1);
  await until(() => count(page, "Chosen.")).toBe(2);

  await say(page, "/ask How many?\n/say Counted.");
  await card.getByRole("textbox").fill("a dozen");
  await button("Send").click();
  await until(() => count(page, "Counted.")).toBe(2);

  // A question that ends with its turn.
  await say(page, "/ask Really? | yes | no\n/say Never.");
  await button("yes").waitFor();
  const token = new URL(desktop.hub.entry).searchParams.get("token");
  const stopped = await fetch(`${desktop.hub.url}/agui/agent/desktop/stop/${session}`, { method: "POST", headers: { Authorization: `Bearer ${token}` } });
  expect(stopped.status).toBe(204);
  await until(() => card.count()).toBe(0);

  await say(page, "/say Still here.");
  await until(() => count(page, "Still here.")).toBe(2);
  await sendMessage(tab, "/say From the desktop.");
  await until(() => count(page, "From the desktop.")).toBe(2);

  // The button that stops interrupts the turn for all.
  await say(page, "/stream 100000 100");
  await until(() => count(page, " w5 w6 ")).toBe(1);
  await page.getByTestId("copilot-send-button").click();
  await until(async () => (await desktop.hub.rest.snapshot(session)).agents?.find((a) => a.status !== "idle")).toBeUndefined();

  // The page loads with a question open.
  await say(page, `${push}\n/say Pushed after a reload.`);
  await button("Approve").waitFor();
  await page.reload();
  await button("Approve").click();
  await until(() => count(page, "allowed it. Pushed after a reload.")).toBe(1);
});

it("a message that is typed while a question is open is sent, or answers a question for words", async () => {
  desktop.guard.allowOrigin(origin);
  const session: SessionID = await desktop.hub.rest.newSession();
  const tab = await desktop.tab({ session });
  const page = await open(session);
  const card = page.locator("form[data-question]");
  const button = (name: string) => card.getByRole("button", { name, exact: true });
  for (const [n, directive] of ["/nosteer\n", ""].entries()) {
    // The permission stays a question: no message grants it.
    await say(page, `${directive}${push}\n/say Pushed ${n}.`);
    await button("Approve").waitFor();
    await say(page, `/say Meanwhile ${n}.`);
    await until(() => shownRows(tab, "user").then((rows) => rows.filter((r) => r.text.includes(`Meanwhile ${n}.`)).length)).toBe(1);
    await button("Approve").click();
    await until(() => rowsWith(tab, `Pushed ${n}.`)).toBe(1);
    await until(() => count(page, `allowed it. Pushed ${n}.`)).toBe(1);
    await until(() => rowsWith(tab, `Meanwhile ${n}.`)).toBeGreaterThan(0);
    await until(() => card.count()).toBe(0);
  }
  await say(page, "/ask How many?\n/say Counted.");
  await button("Send").waitFor();
  await say(page, "a dozen");
  await until(() => count(page, "Counted.")).toBe(2);
  expect(await rowsWith(tab, "a dozen")).toBe(1);
  await until(() => card.count()).toBe(0);
});

it.each([
  ["a thread of a session that does not exist", "ses-nowhere", undefined],
  ["a wrong token", "kit", "wrong"],
])("%s: the page shows an error, and the composer is usable", async (_, thread, token) => {
  desktop.guard.expect(...lostConnection, /status of 4\d\d/, /HTTP 4\d\d/);
  desktop.guard.allowOrigin(origin);
  const page = await open(thread, token);
  await page.getByRole("alert").first().waitFor();
  await say(page, "/say Hi.");
  await until(() => page.getByRole("alert").first().innerText()).not.toBe("");
  const composer = page.locator("textarea");
  await until(() => composer.isEnabled()).toBe(true);
  await composer.fill("Again.");
  await until(() => page.getByTestId("copilot-send-button").isEnabled()).toBe(true);
});

/** An editor: `hub acp` with its lines. */
class Editor {
  readonly texts: Record<string, string> = {};
  questions = 0;
  withdrawn = 0;
  private readonly child = spawn(inject("hubBinary"), ["acp", "--server", desktop.hub.entry], { stdio: ["pipe", "pipe", "inherit"] });
  private readonly answers = new Map<number, (result: { stopReason?: string }) => void>();

  constructor() {
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      const m = JSON.parse(line);
      if (m.method === "session/update") this.add(m.params.update);
      else if (m.method === "session/request_permission") this.questions++;
      else if (m.method === "$/cancel_request") this.withdrawn++;
      else this.answers.get(m.id)?.(m.result ?? m.error);
    });
  }

  private add(update: { sessionUpdate: string; content?: { text?: string } }): void {
    this.texts[update.sessionUpdate] = (this.texts[update.sessionUpdate] ?? "") + (update.content?.text ?? "");
  }

  call(method: string, params: object): Promise<{ stopReason?: string }> {
    const id = this.answers.size + 1;
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return new Promise((done) => this.answers.set(id, done));
  }

  end(): void {
    this.child.stdin.end();
  }
}

/** A script on the IPC socket, which connects again and resumes its task as one of Roo-Code does. */
class Script {
  private readonly rows = new Map<number, { say?: string; text: string }>();
  private clientId = "";
  private task = "";
  private seq = "";
  private conn = this.dial();

  get text(): string {
    return [...this.rows].sort(([a], [b]) => a - b).filter(([, r]) => r.say === "text").map(([, r]) => r.text).join("");
  }

  private dial(): ReturnType<typeof connect> {
    let rest = "";
    const conn = connect(socket).setEncoding("utf8");
    conn.on("error", () => undefined).on("close", () => {
      this.clientId = "";
      setTimeout(() => !this.closed && (this.conn = this.dial()), 200);
    });
    conn.on("data", (piece) => {
      const frames = (rest + piece).split("\f");
      rest = frames.pop() ?? "";
      for (const frame of frames) this.take(JSON.parse(frame).data);
    });
    return conn;
  }

  private take(message: { type: string; seq?: string; data: { clientId?: string; eventName?: string; payload?: [{ taskId: string; message: { ts: number; say?: string; text: string } }] } }): void {
    if (message.type === "Ack") {
      this.clientId = message.data.clientId ?? "";
      if (this.task !== "") this.command("ResumeTask", this.task, { seq: this.seq });
      return;
    }
    this.seq = message.seq ?? this.seq;
    const [row] = message.data.payload ?? [];
    if (message.data.eventName === "message" && row) this.rows.set(row.message.ts, row.message);
  }

  command(commandName: string, data: unknown, more: object = {}): void {
    if (commandName === "ResumeTask") this.task = String(data);
    const command = { type: "TaskCommand", origin: "client", clientId: this.clientId, data: { commandName, data, ...more } };
    this.conn.write(`${JSON.stringify({ type: "message", data: command })}\f`);
  }

  get ready(): boolean {
    return this.clientId !== "";
  }

  private closed = false;
  close(): void {
    this.closed = true;
    this.conn.destroy();
  }
}

/** In how many answers of the conversation in the desktop a text is. */
const rowsWith = (tab: Page, text: string) => shownRows(tab, "assistant").then((rows) => rows.filter((r) => r.text.replace(/\s+/g, " ").includes(text)).length);

it("a CopilotKit page, an editor, a script and the desktop stay in step on one session while the hub is killed and started again", async () => {
  desktop.guard.expectLostHub();
  desktop.guard.allowOrigin(origin);
  desktop.guard.expect(...lostConnection);
  const session: SessionID = await desktop.hub.rest.newSession();
  const tab = await desktop.tab({ session });
  const page = await open(session);
  const editor = new Editor();
  const script = new Script();
  try {
    await editor.call("initialize", { protocolVersion: 1, clientCapabilities: {} });
    await editor.call("session/load", { sessionId: session, cwd: "/", mcpServers: [] });
    await until(() => script.ready).toBe(true);
    script.command("ResumeTask", session);
    await say(page, "/nosteer\n/stream 800 40"); // 20 s, for all to have a part before the hub is killed
    const shows = async (text: string) =>
      Promise.all([count(page, text), rowsWith(tab, text), times(editor.texts.agent_message_chunk ?? "", text), times(script.text, text)]);
    await until(() => shows(" w40 ")).toEqual([1, 1, 1, 1]);
    await desktop.hub.kill();
    await desktop.hub.up();
    await until(() => shows(words(800))).toEqual([1, 1, 1, 1]);
    expect(await shows(" w40 ")).toEqual([1, 1, 1, 1]);

    await until(() => script.ready).toBe(true);
    script.command("SendMessage", { text: "/say From the script." });
    await waitForRow(tab, "From the script.");
    await until(() => editor.texts.agent_message_chunk?.includes("From the script.")).toBe(true);
    const { stopReason } = await editor.call("session/prompt", { sessionId: session, prompt: [{ type: "text", text: "/say From the editor." }] });
    expect(stopReason).toBe("end_turn");
    await waitForRow(tab, "From the editor.");
    await until(() => script.text.includes("From the editor.")).toBe(true);
    // The page shows what the others said, their messages and the answers, without a reload.
    for (const text of ["From the script.", "From the editor."]) await until(() => count(page, text)).toBe(2);
    await sendMessage(tab, "/window w9 Weather | sun\n/say Begun in the desktop.\n/stream 700 100");
    await until(() => shows("Begun in the desktop. w1 w2")).toEqual([1, 1, 1, 1]);
    await desktop.hub.kill();
    await desktop.hub.up();
    await until(() => shows(`Begun in the desktop. ${words(700)}`)).toEqual([1, 1, 1, 1]);
    expect(await shows("Begun in the desktop. w1 w2")).toEqual([1, 1, 1, 1]);

    // A permission is asked in all of them; the desktop gives it.
    await say(page, `${push}\n/say Allowed for all.`);
    await page.locator("form[data-question]").waitFor();
    await until(() => editor.questions).toBe(1);
    await allow(tab);
    await until(() => shows("Allowed for all.")).toEqual([2, 1, 1, 1]);
    await until(() => page.locator("form[data-question]").count()).toBe(0);
    await until(() => editor.withdrawn).toBe(1);
  } finally {
    editor.end();
    script.close();
  }
});
