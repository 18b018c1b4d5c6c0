import { describe, expect, it, vi } from "vitest";
import { Client, type ClientOptions, type ClientState } from "../src/client.js";
import { FakeClock, FakeSocket, FakeStorage } from "./fakes.js";

function setUp(more: Partial<ClientOptions> = {}) {
  const clock = new FakeClock();
  const sockets: FakeSocket[] = [];
  const states: ClientState[] = [];
  let ids = 0;
  const client = new Client({
    url: "https://hub.example/",
    session: "s",
    clientId: "tab",
    clock,
    random: () => 0.5,
    newId: () => `m${++ids}`,
    connect: (url, protocols) => {
      const socket = new FakeSocket(url, protocols);
      sockets.push(socket);
      return socket;
    },
    onChange: (s) => states.push(s),
    ...more,
  });
  client.start();
  return { client, clock, sockets, states, last: () => sockets.at(-1)! };
}

const snapshot = (at: string, more: object = {}) => ({
  type: "session_state",
  data: { mode: "snapshot", heartbeat_ms: 30_000, last_message_id: at, ...more },
});
const resume = (until: string) => ({ type: "session_state", data: { mode: "resume", heartbeat_ms: 30_000, replay_until: until } });
const rename = (at: string) => ({ type: "SESSION_RENAMED", at, data: { title: `title ${at}` } });
const written = (s: FakeSocket) => s.sent.map((m) => m.message_id ?? m.type);

describe("a client", () => {
  it("connects with the subprotocol and parameters of the hub", () => {
    const { last, client, clock } = setUp({ monitors: ["monitor-1"], auth: { token: "t" } });
    expect(last().url.href).toBe("wss://hub.example/ws/s?client_id=tab&monitor=monitor-1");
    expect(last().protocols).toEqual(["everdesk.v2.batch", "everdesk.v2"]);
    last().open();
    expect(last().sent).toEqual([{ type: "auth", data: { token: "t" } }]);
    last().deliver(snapshot("1-1", { title: "mine" }));
    expect(client.state).toMatchObject({ ready: true, desktop: { title: "mine", at: "1-1" } });
    last().deliver(rename("1-2"));
    last().lose();
    clock.advance(500);
    expect(last().url.searchParams.get("resume_from")).toBe("1-2");
  });

  it("sends the last position of an earlier page load as seen", () => {
    const memory = new FakeStorage();
    const first = setUp({ memory });
    expect(first.last().url.searchParams.get("seen")).toBe(null);
    first.last().open();
    first.last().deliver(snapshot("1-7"));
    const second = setUp({ memory });
    expect(second.last().url.searchParams.get("seen")).toBe("1-7");
    expect(second.last().url.searchParams.get("resume_from")).toBe(null);
    second.last().open();
    second.last().deliver(snapshot("1-9"));
    second.last().lose();
    second.clock.advance(500);
    expect(second.last().url.searchParams.get("resume_from")).toBe("1-9");
    expect(second.last().url.searchParams.get("seen")).toBe(null);
  });

  it("subscribes to an added monitor again after reconnecting, and requests its state", () => {
    const { client, clock, last } = setUp({ monitors: ["monitor-1"] });
    last().open();
    last().deliver(snapshot("1-1"));
    client.send("SUBSCRIBE_MONITOR", { monitorId: "monitor-2" });
    last().lose();
    clock.advance(500);
    expect(last().url.searchParams.getAll("monitor")).toEqual(["monitor-1", "monitor-2"]);
    expect(last().url.searchParams.get("resume_from")).toBe(null);
    last().open();
    last().deliver(snapshot("1-3"));
    last().lose();
    clock.advance(1000);
    expect(last().url.searchParams.get("resume_from")).toBe("1-3");
  });

  it("uses a ticket once", () => {
    const { last, clock } = setUp({ auth: { ticket: "t" } });
    last().open();
    expect(last().sent).toHaveLength(1);
    last().lose();
    clock.advance(500);
    last().open();
    expect(last().sent).toHaveLength(0);
  });

  it("holds messages back until the replay has shown which were answered", () => {
    const { client, clock, last } = setUp();
    expect(client.send("USER_MESSAGE", { content: "one" })).toBe("m1");
    last().open();
    expect(written(last())).toEqual([]);
    last().deliver(snapshot("1-1"));
    expect(last().sent).toEqual([{ type: "USER_MESSAGE", message_id: "m1", data: { content: "one" } }]);
    client.send("USER_MESSAGE", { content: "t\0wo" }); // the hub rejects U+0000
    last().lose();
    clock.advance(500);
    last().open();
    last().deliver(resume("1-2"));
    expect(written(last())).toEqual([]);
    last().deliver({ type: "MESSAGE_ACCEPTED", at: "1-2", data: { messageId: "m1", agentId: "main-1", how: "direct" } });
    expect(written(last())).toEqual(["m2"]);
    expect(last().sent[0]!.data).toEqual({ content: "two" });
    expect(client.state.outbox.items.map((s) => s.status)).toEqual(["accepted", "sending"]);
  });

  it("delays messages when the hub is busy", () => {
    const { client, clock, last } = setUp();
    last().open();
    last().deliver(snapshot("1-1"));
    client.send("USER_MESSAGE", { content: "one" });
    const busy = { code: 3004, name: "n", message: "full", recoverable: true, suggested_action: "wait", retry_after_ms: 2000, messageId: "m1" };
    last().deliver({ type: "error", data: busy });
    clock.advance(1999);
    expect(written(last())).toEqual(["m1"]);
    clock.advance(1);
    expect(written(last())).toEqual(["m1", "m1"]);
  });

  it("keeps a message while the hub's store is unavailable, and sends it at once afterwards", () => {
    const { client, clock, last, sockets } = setUp();
    last().open();
    last().deliver(snapshot("1-1"));
    last().deliver({ type: "store_status", data: { available: false, since: 5 } });
    client.send("USER_MESSAGE", { content: "one" });
    const away = { code: 3007, name: "n", message: "away", recoverable: true, suggested_action: "wait", retry_after_ms: 0, messageId: "m1" };
    for (let tries = 1; tries <= 30; tries++) {
      expect(written(last()).filter((id) => id === "m1")).toHaveLength(tries);
      expect(client.state.outbox.items).toMatchObject([{ id: "m1", status: "sending" }]);
      last().deliver({ type: "error", data: away });
      if (tries < 30) clock.advance(30_000);
    }
    expect(written(last()).filter((id) => id === "m1")).toHaveLength(30);
    last().deliver({ type: "store_status", data: { available: true, since: 9 } });
    expect(written(last()).filter((id) => id === "m1")).toHaveLength(31);
    last().deliver({ type: "MESSAGE_ACCEPTED", at: "1-2", data: { messageId: "m1", agentId: "main-1", how: "direct" } });
    expect(client.state.outbox.items.map((s) => s.status)).toEqual(["accepted"]);
    expect([sockets.length, client.state.link.phase]).toEqual([1, "live"]);
  });

  it("answers pings, and closes a link that is silent or was suspended", () => {
    const { clock, last, sockets } = setUp();
    last().open();
    last().deliver(snapshot("1-1"));
    clock.advance(40_000);
    last().deliver({ type: "ping", data: {} });
    expect(written(last())).toEqual(["pong"]);
    clock.advance(45_000);
    expect(sockets[0]!.closedWith).toBe(4000);
    clock.advance(500);
    last().open();
    last().deliver(resume("1-1"));
    clock.freeze(3_600_000);
    last().deliver(rename("1-2"));
    expect(sockets).toHaveLength(3);
    expect(last().url.searchParams.get("resume_from")).toBe("1-2");
    sockets[1]!.deliver(rename("1-3")); // too late
    expect(last().readyState).toBe(0);
  });

  it("refreshes credentials once", async () => {
    const refresh = vi.fn(async () => ({ token: "new" }));
    const { client, last, sockets } = setUp({ refresh });
    last().open();
    last().lose(4401);
    await vi.waitFor(() => expect(sockets).toHaveLength(2));
    last().open();
    expect(last().sent).toEqual([{ type: "auth", data: { token: "new" } }]);
    last().lose(4401);
    expect([client.state.link.phase, refresh.mock.calls.length]).toEqual(["stopped", 1]);
    client.setAuth({ token: "by hand" });
    expect(sockets).toHaveLength(3);
  });

  it("stops when credentials cannot be refreshed", async () => {
    const { client, last } = setUp({ refresh: () => Promise.reject(new Error("offline")) });
    last().open();
    last().lose(4401);
    await vi.waitFor(() => expect(client.state.link.phase).toBe("stopped"));
  });

  it("probes why a handshake failed", async () => {
    const { client, last } = setUp({ probe: async () => 404 });
    last().lose(1006);
    await vi.waitFor(() => expect(client.state.link).toMatchObject({ phase: "stopped", code: 4404 }));
  });

  it("retries when there is no network to create a socket", () => {
    let broken = true;
    const clock = new FakeClock();
    const client = new Client({
      url: "ws://h",
      session: "s",
      clientId: "t",
      clock,
      connect: (url, protocols) => {
        if (broken) throw new Error("no network");
        return new FakeSocket(url, protocols);
      },
    });
    client.start();
    expect(client.state.link.phase).toBe("waiting");
    broken = false;
    client.wake();
    expect(client.state.link.phase).toBe("connecting");
    client.stop();
    expect([client.state.link.phase, clock.pending]).toEqual(["stopped", 0]);
  });

  it("keeps its messages over a reload, as long as the storage has space", () => {
    const storage = new FakeStorage();
    const first = setUp({ storage });
    first.client.send("USER_MESSAGE", { content: "one" });
    const second = setUp({ storage });
    second.last().open();
    second.last().deliver(snapshot("1-1"));
    expect(written(second.last())).toEqual(["m1"]);
    second.last().deliver({ type: "MESSAGE_REJECTED", at: "1-2", data: { messageId: "m1", code: 3004, reason: "no" } });
    expect(storage.items.size).toBe(0);
    storage.full = true;
    expect(second.client.send("USER_MESSAGE", { content: "two", messageId: "own" })).toBe("own");
    expect(written(second.last())).toEqual(["m1", "own"]);
  });

  it("sends the unsent messages of the same user in the same tab, and no others", () => {
    const storage = new FakeStorage();
    const left = { storage, clientId: "tab-1", user: "mina" };
    setUp(left).client.send("USER_MESSAGE", { content: "one" });
    const waiting = (more: Partial<ClientOptions>): string[] => setUp({ ...left, ...more }).client.state.outbox.items.map((s) => s.id);
    expect(waiting({ clientId: "tab-2" })).toEqual([]); // a copy of the tab, whose original still exists
    expect(waiting({ user: "juno" })).toEqual([]);
    expect(waiting({ session: "other" })).toEqual([]);
    expect(waiting({})).toEqual(["m1"]);
  });

  it("rejects messages to a deleted session, and keeps those that a retry may deliver", () => {
    for (const [code, status] of [[4410, "rejected"], [4404, "rejected"], [4401, "sending"], [4403, "sending"]] as const) {
      const { client, last } = setUp();
      last().open();
      last().deliver(snapshot("1-1"));
      client.send("USER_MESSAGE", { content: "before" });
      last().lose(code);
      client.send("USER_MESSAGE", { content: "after" });
      client.send("INTERRUPT", {});
      expect([code, ...client.state.outbox.items.map((s) => s.status)]).toEqual([code, status, status]);
      expect(client.state.outbox.notes.length).toBe(status === "sending" ? 1 : 0);
      client.retry();
      last().open();
      last().deliver(snapshot("1-1"));
      expect(written(last())).toEqual(status === "sending" ? ["m1", "m2", "INTERRUPT"] : []);
    }
  });

  it("notifies once per frame, and keeps unchanged parts of the state", () => {
    const { client, last, states } = setUp();
    last().open();
    last().deliver(snapshot("1-1"));
    const open = { type: "window.create", windowId: "w", title: "t", bounds: { x: 0, y: 0, w: 1, h: 1 }, content: { renderer: "text", data: "" } };
    last().deliver({ type: "ACTIONS", at: "1-2", data: { actions: [open, { ...open, windowId: "v" }] } });
    const before = client.state.desktop;
    const told = states.length;
    last().deliver(rename("1-3"), rename("1-4"), { type: "ACTIONS", at: "1-5", data: { actions: [{ type: "window.setTitle", windowId: "w", title: "new" }] } });
    expect(states.length).toBe(told + 1);
    const after = client.state.desktop;
    expect(after.windows.get("monitor-0/v")).toBe(before.windows.get("monitor-0/v"));
    expect(after.windows.get("monitor-0/w")!.content).toBe(before.windows.get("monitor-0/w")!.content);
    expect(before.windows.get("monitor-0/w")!.title).toBe("t");
    for (const table of ["monitors", "dialogs", "toasts", "agents", "rows", "queues"] as const) expect(after[table]).toBe(before[table]);
  });

  it("survives frames that it cannot decode", () => {
    const { client, last } = setUp();
    last().open();
    last().deliver(snapshot("1-1"));
    last().onmessage!({ data: 'not JSON\n[]\n7\n{"type":7}\n' });
    last().onmessage!({ data: new ArrayBuffer(3) });
    last().deliver({ type: "FROM_THE_FUTURE", at: "1-2", data: { any: "thing" } }, { type: "SESSION_RENAMED", at: "1-3", data: { title: 7 } });
    expect(client.state.link).toMatchObject({ phase: "live", cursor: "1-3", stats: { unreadable: 4 } });
    expect(client.state.desktop).toMatchObject({ at: "1-3", title: "" });
  });
});
