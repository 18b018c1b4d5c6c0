import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { Client, type ClientOptions, type Socket } from "../src/client.js";
import { hash } from "../src/snapshot.js";
import type { SessionState } from "../src/wire.gen.js";
import { type Hub, startHub } from "./hub.js";

let hub: Hub = { url: "", stop: async () => undefined };
const clients: Client[] = [];

beforeAll(async () => {
  hub = await startHub();
}, 300_000);

afterAll(async () => {
  for (const c of clients) c.stop();
  await hub.stop();
});

async function newSession(): Promise<string> {
  const res = await fetch(`${hub.url}/api/sessions`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  return ((await res.json()) as { sessionId: string }).sessionId;
}

interface Tab {
  client: Client;
  /** Closes the connection as a lost network does. */
  disconnect: () => void;
}

function openTab(session: string, clientId: string, more: Partial<ClientOptions> = {}): Tab {
  let socket: WebSocket | undefined;
  const client = new Client({
    url: hub.url,
    session,
    clientId,
    random: () => 0,
    connect: (url, protocols) => (socket = new WebSocket(url, protocols)) as unknown as Socket,
    ...more,
  });
  clients.push(client);
  client.start();
  return { client, disconnect: () => socket?.terminate() };
}

/** Waits until the tabs have reached the hub's position, and compares their states. */
async function compare(session: string, ...tabs: Tab[]): Promise<void> {
  await vi.waitFor(
    async () => {
      const res = await fetch(`${hub.url}/api/sessions/${session}/snapshot`);
      const state = (await res.json()) as SessionState;
      for (const { client } of tabs) {
        expect(client.state.link).toMatchObject({ phase: "live", cursor: state.last_message_id });
        expect(await hash(client.state.desktop)).toBe(res.headers.get("X-State-Hash"));
      }
    },
    { timeout: 20_000, interval: 50 },
  );
}

it("two tabs reach the same state, though one is disconnected twenty times during an answer", async () => {
  const session = await newSession();
  let cuts = 0;
  let pieces = 0;
  let text = "";
  const steady = openTab(session, "steady", {
    onEvent: (e) => {
      if (e.type === "AGENT_RESPONSE") text = text.slice(0, e.data.offset ?? 0) + (e.data.delta ?? "");
    },
  });
  const shaky = openTab(session, "shaky", {
    onEvent: (e) => {
      if (e.type !== "AGENT_RESPONSE" || e.data.isComplete || ++pieces < 2 || cuts >= 20) return;
      if (shaky.client.state.link.stats.connections <= cuts) return; // this connection is being cut
      cuts++;
      pieces = 0;
      queueMicrotask(() => shaky.disconnect());
    },
  });
  await vi.waitFor(() => expect([steady, shaky].map((t) => t.client.state.link.phase)).toEqual(["live", "live"]), 10_000);
  const id = shaky.client.send("USER_MESSAGE", { content: "/window w1 Notes | # Hello\n/stream 500 120" });
  await vi.waitFor(() => expect(shaky.client.state.outbox.items.find((s) => s.id === id)?.status).toBe("completed"), {
    timeout: 25_000,
    interval: 50,
  });
  expect(cuts).toBe(20);
  await compare(session, steady, shaky);
  expect(text.split(/\s+/).length).toBeGreaterThan(400);
  expect(shaky.client.state.link.stats).toMatchObject({ connections: 21, snapshots: 1, duplicates: 0, unreadable: 0 });
  expect(steady.client.state.link.stats.connections).toBe(1);
  expect(steady.client.state.desktop.windows.size).toBe(1);
}, 60_000);

it("a message under way during a reload is sent again and applied once", async () => {
  const session = await newSession();
  const kept = new Map<string, string>();
  const storage = {
    getItem: (k: string) => kept.get(k) ?? null,
    setItem: (k: string, v: string) => void kept.set(k, v),
    removeItem: (k: string) => void kept.delete(k),
  };
  const before = openTab(session, "tab", { storage });
  await vi.waitFor(() => expect(before.client.state.link.phase).toBe("live"), 10_000);
  const id = before.client.send("USER_MESSAGE", { content: "/say hello" });
  before.disconnect(); // whether the message was sent or not
  before.client.stop();
  const after = openTab(session, "tab", { storage });
  await vi.waitFor(() => expect(after.client.state.outbox.items.find((s) => s.id === id)?.status).toMatch(/completed|ended/), 10_000);
  await vi.waitFor(() => expect(kept.size).toBe(0), 5_000);
  await compare(session, after);
  const rows = [...after.client.state.desktop.rows.values()].filter((r) => r.row.messageId === id && r.row.say === "user_feedback");
  expect(rows.length).toBeLessThanOrEqual(1);
}, 60_000);
