import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type EventStream, type Link, subscribe } from "../src/state/live.js";

class FakeSource implements EventStream {
  static all: FakeSource[] = [];
  onopen: ((e: Event) => void) | null = null;
  onerror: ((e: Event) => void) | null = null;
  closed = false;
  readonly heard = new Map<string, (e: MessageEvent<string>) => void>();
  readonly address: string;

  constructor(address: string) {
    this.address = address;
    FakeSource.all.push(this);
  }

  addEventListener(type: string, hear: (e: MessageEvent<string>) => void): void {
    this.heard.set(type, hear);
  }

  close(): void {
    this.closed = true;
  }

  say(kind: string, data: string): void {
    this.heard.get(kind)?.({ data, lastEventId: "1-1" } as MessageEvent<string>);
  }
}

beforeEach(() => {
  FakeSource.all = [];
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function subscribeFake(lost: () => Promise<boolean> = async () => true, next?: () => string) {
  const links: Link[] = [];
  const said: unknown[] = [];
  const stop = subscribe(
    { address: "/live", kinds: ["overview"], onEvent: (kind, data, id) => said.push([kind, data, id]), onLink: (l) => links.push(l), shouldReconnect: lost, ...(next === undefined ? {} : { nextAddress: next }) },
    (a) => new FakeSource(a),
  );
  return { links, said, stop };
}

test("pushed events are received, invalid JSON is dropped", () => {
  const { links, said } = subscribeFake();
  const [source] = FakeSource.all as [FakeSource];
  source.onopen!(new Event("open"));
  source.say("overview", '{"a":1}');
  source.say("overview", "{");
  expect(links).toEqual(["connecting", "live"]);
  expect(said).toEqual([["overview", { a: 1 }, "1-1"]]);
});

test("a lost connection is retried with growing delays, which start again after a connection that lasted", async () => {
  const { links } = subscribeFake(undefined, () => "/live?after=1");
  const waits: number[] = [];
  for (let n = 0; n < 6; n++) {
    const before = FakeSource.all.length;
    FakeSource.all.at(-1)!.onerror!(new Event("error"));
    expect(FakeSource.all.at(-1)!.closed).toBe(true);
    const begin = Date.now();
    while (FakeSource.all.length === before) await vi.advanceTimersByTimeAsync(100);
    waits.push(Date.now() - begin);
  }
  expect(waits).toEqual([500, 1000, 2000, 4000, 5000, 5000]);
  expect(FakeSource.all.at(-1)!.address).toBe("/live?after=1");
  FakeSource.all.at(-1)!.onopen!(new Event("open"));
  FakeSource.all.at(-1)!.onerror!(new Event("error"));
  const before = FakeSource.all.length;
  await vi.advanceTimersByTimeAsync(500);
  expect(FakeSource.all).toHaveLength(before + 1);
  expect(links).toContain("reconnecting");
});

test("a refused connection is not retried", async () => {
  subscribeFake(async () => false);
  FakeSource.all[0]!.onerror!(new Event("error"));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(FakeSource.all).toHaveLength(1);
});

test("after stop there are no events and no connections", async () => {
  const { said, stop } = subscribeFake();
  FakeSource.all[0]!.onerror!(new Event("error"));
  stop();
  FakeSource.all[0]!.say("overview", "{}");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(FakeSource.all).toHaveLength(1);
  expect(said).toEqual([]);
});
