// What the scripts share that let clients of npm use real hubs: waiting, ports, a line that can be cut, and a tab of the
// desktop that answers.

import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Polls until a check returns something true, and returns that. */
export async function until(what, check, most = 90_000) {
  for (const end = Date.now() + most; ; await sleep(20)) {
    const found = await check();
    if (found) return found;
    assert.ok(Date.now() < end, `waited too long until ${typeof what === "function" ? what() : what}`);
  }
}

export function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** Whether a server accepts connections on a port. */
export function listens(port) {
  return new Promise((done) => {
    const probe = connect(port, "127.0.0.1");
    probe.once("error", () => done(false)).once("connect", () => {
      probe.destroy();
      done(true);
    });
  });
}

/** A TCP proxy to a hub whose connections can be cut. */
export class Line {
  static async to(url) {
    const line = new Line();
    line.open = new Set();
    line.server = createServer((near) => {
      const far = connect(Number(new URL(url).port), "127.0.0.1");
      for (const [a, b] of [[near, far], [far, near]]) {
        line.open.add(a);
        a.on("error", () => undefined).on("close", () => {
          line.open.delete(a);
          b.destroy();
        });
      }
      near.pipe(far).pipe(near);
    });
    await new Promise((done) => line.server.listen(0, "127.0.0.1", done));
    line.url = `http://127.0.0.1:${line.server.address().port}`;
    return line;
  }

  /** Closes all connections, and returns how many there were. New ones are accepted. */
  cut() {
    const all = [...this.open];
    for (const socket of all) socket.destroy();
    return all.length / 2;
  }

  close() {
    this.server.close();
    this.cut();
  }
}

/** A tab of the desktop: a WebSocket that collects the events of a session. */
export class Tab {
  constructor(WebSocket, url, session) {
    this.events = [];
    this.socket = new WebSocket(`${url.replace("http", "ws")}/ws/${session}`, "everdesk.v2");
    this.socket.on("message", (text) => this.events.push(JSON.parse(text))).on("error", () => undefined);
  }

  state() {
    return until("the tab has the state", () => this.events.find((e) => e.type === "session_state")?.data);
  }

  send(type, data) {
    this.socket.send(JSON.stringify({ type, message_id: `m-${Math.random().toString(36).slice(2)}`, data }));
  }

  close() {
    this.socket.terminate();
  }
}

/** Gives the permission for which an open session asks, in a tab of the desktop. */
export async function allowInDesktop(WebSocket, url, session) {
  const tab = new Tab(WebSocket, url, session);
  const { dialogs } = await tab.state();
  assert.equal(dialogs?.length, 1, "open questions in the desktop");
  tab.send("DIALOG_FEEDBACK", { dialogId: dialogs[0].dialogId, confirmed: true });
  await until("the question is closed", () => tab.events.some((e) => e.type === "DIALOG_CLOSED"));
  tab.close();
}
