// Fakes of browser APIs.

import type { Clock, Socket, Storage } from "../src/client.js";
import type { Channel, Locks } from "../src/tabs.js";

/** A clock that only a test advances. */
export class FakeClock implements Clock {
  private time = 1_000_000;
  private next = 1;
  private readonly timers = new Map<number, { at: number; f: () => void }>();

  now(): number {
    return this.time;
  }

  setTimeout(f: () => void, ms: number): number {
    this.timers.set(this.next, { at: this.time + ms, f });
    return this.next++;
  }

  clearTimeout(timer: unknown): void {
    this.timers.delete(timer as number);
  }

  /** Advances the time; due timers fire in order. */
  advance(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const due = [...this.timers].filter(([, t]) => t.at <= end).sort((a, b) => a[1].at - b[1].at || a[0] - b[0])[0];
      if (due === undefined) break;
      this.timers.delete(due[0]);
      this.time = Math.max(this.time, due[1].at);
      due[1].f();
    }
    this.time = end;
  }

  /** Advances the time without firing timers, as in a frozen tab. */
  freeze(ms: number): void {
    this.time += ms;
  }

  get pending(): number {
    return this.timers.size;
  }
}

/** The other end of a client's socket. */
export class FakeSocket implements Socket {
  readyState = 0;
  onopen: ((e: never) => void) | null = null;
  onmessage: ((e: { data: unknown }) => void) | null = null;
  onclose: ((e: { code: number; reason: string }) => void) | null = null;
  onerror: ((e: never) => void) | null = null;
  readonly sent: { type: string; message_id?: string; data: Record<string, unknown> }[] = [];
  closedWith: number | undefined;
  readonly url: URL;
  readonly protocols: string[];

  constructor(url: string, protocols: string[]) {
    this.url = new URL(url);
    this.protocols = protocols;
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text) as (typeof this.sent)[number]);
  }

  close(code?: number): void {
    this.readyState = 3;
    this.closedWith = code;
  }

  open(): void {
    this.readyState = 1;
    this.onopen?.(undefined as never);
  }

  /** Sends events to the client, all in one frame. */
  deliver(...events: { type: string; at?: string; data: unknown }[]): void {
    const lines = events.map(({ type, at, data }) =>
      JSON.stringify({ type, session_id: "s", message_id: at, timestamp: "2026-11-15T00:00:00.000Z", data }),
    );
    this.onmessage?.({ data: lines.join("\n") });
  }

  lose(code = 1006, reason = ""): void {
    this.readyState = 3;
    this.onclose?.({ code, reason });
  }
}

/** The broadcast channels of a browser: all but the sender receive a message. */
export class FakeBus {
  private readonly open = new Set<FakeChannel>();

  channel(): FakeChannel {
    const c = new FakeChannel((from, data) => {
      // As in a browser, every receiver gets a copy.
      for (const other of [...this.open]) if (other !== from) other.hear(structuredClone(data));
    }, this.open);
    this.open.add(c);
    return c;
  }
}

export class FakeChannel implements Channel {
  onmessage: ((e: { data: unknown }) => void) | null = null;
  private asleep = false;
  private held: unknown[] = [];
  private readonly deliver: (from: FakeChannel, data: unknown) => void;
  private readonly all: Set<FakeChannel>;

  constructor(deliver: (from: FakeChannel, data: unknown) => void, all: Set<FakeChannel>) {
    this.deliver = deliver;
    this.all = all;
  }

  /** Holds back incoming messages, as in a frozen tab. */
  sleep(): void {
    this.asleep = true;
  }

  wake(): void {
    this.asleep = false;
    for (const data of this.held.splice(0)) this.hear(data);
  }

  hear(data: unknown): void {
    if (this.asleep) this.held.push(data);
    else this.onmessage?.({ data });
  }

  postMessage(data: unknown): void {
    if (!this.all.has(this)) throw new Error("the channel is closed");
    this.deliver(this, data);
  }

  close(): void {
    this.all.delete(this);
  }
}

/** Web Locks with one lock. */
export class FakeLocks implements Locks {
  private last: Promise<unknown> = Promise.resolve();

  request(_: string, options: { signal: AbortSignal }, held: () => Promise<void>): Promise<unknown> {
    const mine = this.last.then(() => {
      if (options.signal.aborted) throw new Error("aborted");
      return held();
    });
    this.last = mine.catch(() => undefined);
    return mine;
  }
}

export class FakeStorage implements Storage {
  readonly items = new Map<string, string>();
  full = false;

  getItem(key: string): string | null {
    return this.items.get(key) ?? null;
  }

  setItem(key: string, value: string): void {
    if (this.full) throw new Error("QuotaExceededError");
    this.items.set(key, value);
  }

  removeItem(key: string): void {
    this.items.delete(key);
  }
}
