// State that the tabs of one browser share: drafts, so that typed text appears in all tabs, and the leader, the one tab that
// shows browser notifications.

import type { Clock, Storage } from "./client.js";

/** The part of a BroadcastChannel that tabs use. It does not deliver to its own sender. The implementation types its events. */
export interface Channel {
  onmessage: ((e: never) => void) | null;
  postMessage(data: unknown): void;
  close(): void;
}

interface Draft {
  text: string;
  /** The time and tab of the last change. The newest wins; at equal times the greater tab id. */
  at: number;
  tab: string;
}

/** The unsent drafts, by a key such as session and monitor. */
export class Drafts {
  private readonly known = new Map<string, Draft>();
  private readonly options: DraftOptions;

  constructor(options: DraftOptions) {
    this.options = options;
    options.channel.onmessage = (e: { data: unknown }) => this.hear(e.data);
    this.restore();
  }

  get(key: string): string {
    return this.known.get(key)?.text ?? "";
  }

  /** Sets the draft of a key. An empty text deletes it. */
  set(key: string, text: string): void {
    const last = this.known.get(key);
    // The time never goes back, so that a changed clock cannot make the newest text the older one.
    const at = Math.max(this.options.now(), (last?.at ?? 0) + 1);
    const draft = { text: text.slice(0, maxDraft), at, tab: this.options.tab };
    this.store(key, draft);
    this.options.channel.postMessage({ key, draft });
  }

  close(): void {
    this.options.channel.close();
  }

  private hear(data: unknown): void {
    const { key, draft } = (data ?? {}) as { key?: unknown; draft?: unknown };
    if (typeof key !== "string" || !isDraft(draft)) return;
    const mine = this.known.get(key);
    if (mine !== undefined && !(draft.at > mine.at || (draft.at === mine.at && draft.tab > mine.tab))) return;
    this.store(key, draft);
    this.options.onDraft?.(key, draft.text);
  }

  private store(key: string, draft: Draft): void {
    this.known.delete(key); // keeps the map in order of age
    this.known.set(key, draft);
    for (const oldest of this.known.keys()) {
      if (this.known.size <= maxDrafts) break;
      this.known.delete(oldest);
    }
    try {
      this.options.storage?.setItem(draftsKey, JSON.stringify([...this.known].filter(([, d]) => d.text !== "")));
    } catch {
      // The storage is full or forbidden: open tabs still receive the draft.
    }
  }

  private restore(): void {
    try {
      const list: unknown = JSON.parse(this.options.storage?.getItem(draftsKey) ?? "[]");
      if (!Array.isArray(list)) return;
      for (const [key, draft] of list.slice(-maxDrafts) as [unknown, unknown][]) {
        if (typeof key === "string" && isDraft(draft)) this.known.set(key, draft);
      }
    } catch {
      // Unreadable storage counts as empty.
    }
  }
}

export interface DraftOptions {
  tab: string;
  channel: Channel;
  now: () => number;
  /** localStorage, for tabs that open later. */
  storage?: Storage;
  /** Called when another tab changed a draft. */
  onDraft?: (key: string, text: string) => void;
}

const draftsKey = "everdesk.drafts";
const maxDrafts = 50;
const maxDraft = 64 << 10;

function isDraft(v: unknown): v is Draft {
  const d = (v ?? {}) as Record<string, unknown>;
  return typeof d.text === "string" && d.text.length <= maxDraft && typeof d.at === "number" && typeof d.tab === "string";
}

/** The part of navigator.locks that Leader uses. */
export interface Locks {
  request(name: string, options: { signal: AbortSignal }, held: () => Promise<void>): Promise<unknown>;
}

export interface LeaderOptions {
  tab: string;
  channel: Channel;
  clock: Clock;
  /** Absent on insecure pages; then tabs elect a leader by messages. */
  locks?: Locks;
  onChange?: (leading: boolean) => void;
}

type LeaderMessage = { word: "lead" | "leave" | "ask"; tab: string } | { word: "shown"; tab: string; key: string };

/** The heartbeat interval of the leader and the silence after which another tab takes over, in ms. */
export const lease = { renewal: 1_000, end: 3_500 } as const;

/** Elects one tab of a browser as the leader. For a moment there may be none; two are possible only without locks. */
export class Leader {
  private state = false;
  private heard = 0;
  private timer: unknown;
  private closed = false;
  private readonly stop = new AbortController();
  private readonly options: LeaderOptions;
  private readonly shown = new Set<string>();

  constructor(options: LeaderOptions) {
    this.options = options;
    options.channel.onmessage = (e: { data: LeaderMessage | null }) => this.handleMessage(e.data);
    if (options.locks === undefined) {
      this.heard = options.clock.now();
      this.broadcast({ word: "ask", tab: options.tab });
      this.armTimer();
      return;
    }
    const held = (): Promise<void> => {
      this.lead(true);
      return new Promise((done) => this.stop.signal.addEventListener("abort", () => done()));
    };
    options.locks.request("everdesk.leader", { signal: this.stop.signal }, held).catch(() => undefined); // closed before the lock was acquired
  }

  get leading(): boolean {
    return this.state;
  }

  /** Whether this tab shows the notification of a key. Call it once per key; the leader announces the key to the other tabs. */
  claim(key: string): boolean {
    if (!this.state || this.shown.has(key)) return false;
    this.remember(key);
    this.broadcast({ word: "shown", tab: this.options.tab, key });
    return true;
  }

  /** Gives up leadership. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    if (this.state && this.options.locks === undefined) this.broadcast({ word: "leave", tab: this.options.tab });
    this.options.clock.clearTimeout(this.timer);
    this.stop.abort();
    this.state = false;
    this.options.channel.close();
  }

  private broadcast(word: LeaderMessage): void {
    this.options.channel.postMessage(word);
  }

  private lead(leading: boolean): void {
    if (this.closed || this.state === leading) return;
    this.state = leading;
    this.options.onChange?.(leading);
  }

  private remember(key: string): void {
    this.shown.add(key);
    for (const oldest of this.shown) {
      if (this.shown.size <= 200) break;
      this.shown.delete(oldest);
    }
  }

  private handleMessage(word: LeaderMessage | null): void {
    if (this.closed || typeof word?.tab !== "string") return;
    if (word.word === "shown" && typeof word.key === "string") this.remember(word.key);
    if (this.options.locks !== undefined) return;
    switch (word.word) {
      case "ask":
        if (this.state) this.broadcast({ word: "lead", tab: this.options.tab });
        return;
      case "lead":
        // Of two leaders the smaller tab id stays; both receive each other's heartbeat.
        if (this.state && this.options.tab < word.tab) {
          this.broadcast({ word: "lead", tab: this.options.tab });
          return;
        }
        this.lead(false);
        this.heard = this.options.clock.now();
        this.armTimer();
        return;
      case "leave":
        this.heard = this.options.clock.now() - lease.end;
        this.armTimer();
        return;
    }
  }

  /** Sets the timer for the next heartbeat, or for the takeover after silence. */
  private armTimer(): void {
    const { clock, tab } = this.options;
    clock.clearTimeout(this.timer);
    const now = clock.now();
    // The delay differs by tab, so that tabs do not take over simultaneously.
    const wait = this.state ? lease.renewal : Math.max(this.heard + lease.end - now, 0) + takeoverDelay(tab);
    this.timer = clock.setTimeout(() => {
      if (this.closed) return;
      // A leader that was frozen longer than its lease may have been replaced.
      if (this.state && clock.now() > now + lease.end) {
        this.heard = clock.now();
        this.lead(false);
      } else if (!this.state && clock.now() >= this.heard + lease.end) this.lead(true);
      if (this.state) this.broadcast({ word: "lead", tab });
      else this.broadcast({ word: "ask", tab });
      this.armTimer();
    }, wait);
  }
}

/** A delay of up to 250 ms, derived from the tab id. */
function takeoverDelay(tab: string): number {
  let sum = 0;
  for (let i = 0; i < tab.length; i++) sum = (sum * 31 + tab.charCodeAt(i)) % 251;
  return sum;
}
