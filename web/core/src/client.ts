// The client of one session in one tab. It owns the socket, the mirror of the desktop state and the outbox, and performs the
// effects of the connection state machine (link.ts). Sockets, clocks and storage come in through its options, so that tests
// need no browser.

import { decodeFrame, type HubEvent } from "./event.js";
import { isGone, type Link, type LinkEffect, type LinkInput, newLink, nextTimer, stepLink } from "./link.js";
import { applyToOutbox, enqueue, isAnswered, type Message, markForResend, markWritten, nextToWrite, type Outbox, reconcile, rejectOversized, rejectUnaccepted, restoreOutbox, serializeOutbox } from "./outbox.js";
import { applyEvent } from "./reduce.js";
import { type DesktopState, emptyDesktop } from "./state.js";
import type { Auth, ClientPayloads, MessageID, MonitorID, Position, SessionID, SubscribeMonitor } from "./wire.gen.js";
import { errorCodes } from "./wire.gen.js";

/** The part of a WebSocket that the client uses. The implementation types its events. */
export interface Socket {
  readonly readyState: number;
  onopen: ((e: never) => void) | null;
  onmessage: ((e: never) => void) | null;
  onclose: ((e: never) => void) | null;
  onerror: ((e: never) => void) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
}

/** The clock of the client; tests replace it. */
export interface Clock {
  now(): number;
  setTimeout(f: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** The part of sessionStorage that the client uses. */
export type Storage = Pick<globalThis.Storage, "getItem" | "setItem" | "removeItem">;

export interface ClientOptions {
  /** The hub's address, as in ws://127.0.0.1:8080. */
  url: string;
  session: SessionID;
  /** The id of the tab; all its connections send it. */
  clientId: string;
  /** The signed-in user. Unsent messages that another user left in this tab are not sent. */
  user?: string;
  /** The monitors to subscribe to; empty means all. */
  monitors?: MonitorID[];
  /** Credentials for the first frame, for clients without a session cookie. */
  auth?: Auth;
  /** Fetches new credentials; undefined if there are none. */
  refresh?: () => Promise<Auth | undefined>;
  /** Requests the HTTP status that explains why the hub refused the WebSocket handshake. */
  probe?: () => Promise<number>;
  connect: (url: string, protocols: string[]) => Socket;
  clock?: Clock;
  random?: () => number;
  newId?: () => MessageID;
  storage?: Storage;
  /** Storage shared by the tabs of a browser. It holds the last position seen of each session, which the client sends as proof of an earlier visit. */
  memory?: Storage;
  /** Called for every event except pings, after the event was applied to the desktop state. */
  onEvent?: (event: HubEvent, replayed: boolean) => void;
  /** Called after each change of the client state. */
  onChange?: (state: ClientState) => void;
}

/** Everything the page draws. Unchanged parts keep their object identity. */
export interface ClientState {
  readonly desktop: DesktopState;
  readonly link: Link;
  readonly outbox: Outbox;
  /** Whether the client has received a session_state yet. */
  readonly ready: boolean;
}

/** The client of one session. */
export class Client {
  private current: ClientState;
  private socket: Socket | undefined;
  private auth: Auth | undefined;
  private timer: unknown;
  private readonly options: ClientOptions;
  private readonly clock: Clock;
  private readonly storageKey: string;
  private readonly seenKey: string;
  private saved = "";
  /** The subscribed monitors; empty means all. The desktop state has no content yet of those in `unseen`. */
  private monitors: MonitorID[];
  private unseen: MonitorID[] = [];
  /** The monitors in the query of the newest connection. */
  private asked: MonitorID[] = [];

  constructor(options: ClientOptions) {
    this.options = options;
    this.monitors = [...(options.monitors ?? [])];
    this.clock = options.clock ?? browserClock;
    this.auth = options.auth;
    this.storageKey = `everdesk.outbox.${options.session}.${options.clientId}.${options.user ?? ""}`;
    this.seenKey = `everdesk.seen.${options.session}`;
    const outbox = restoreOutbox(options.storage?.getItem(this.storageKey) ?? null);
    this.current = { desktop: emptyDesktop(), link: newLink(), outbox, ready: false };
  }

  get state(): ClientState {
    return this.current;
  }

  /** The id of the tab. */
  get clientId(): string {
    return this.options.clientId;
  }

  start(): void {
    this.step({ type: "start" });
  }

  /** Closes the connection without reconnecting. The session stays open in the hub. */
  stop(): void {
    this.step({ type: "stop" });
  }

  /** Reconnects immediately, at the user's request. */
  retry(): void {
    this.step({ type: "retry" });
  }

  /** Reports that the page is visible, unfrozen or online again. */
  wake(): void {
    this.step({ type: "awake" });
  }

  /** Replaces the credentials and reconnects with them if the connection was stopped. */
  setAuth(auth: Auth): void {
    this.auth = auth;
    this.step({ type: "token" });
    this.step({ type: "retry" });
  }

  /** Sends the position of the pointer if the connection is open. It is neither kept nor answered. */
  point(data: ClientPayloads["POINTER"]): void {
    if (this.current.link.phase === "live" && this.current.link.released) this.write({ type: "POINTER", data });
  }

  /** Enqueues a message and returns its id, or undefined when too many messages are unanswered. */
  send<T extends keyof ClientPayloads>(type: T, data: ClientPayloads[T]): MessageID | undefined {
    const given = (data as { messageId?: MessageID }).messageId;
    // In DELETE_QUEUED_MESSAGE, messageId is the id of the message to delete.
    const id = (type === "DELETE_QUEUED_MESSAGE" ? undefined : given) ?? (this.options.newId ?? randomId)();
    const outbox = enqueue(this.current.outbox, { id, type, data, since: this.clock.now() });
    if (outbox === undefined) return undefined;
    this.change({ outbox: rejectIfGone(this.current.link, outbox) });
    this.flush();
    return id;
  }

  private step(input: LinkInput): void {
    const env = {
      now: this.clock.now(),
      random: (this.options.random ?? Math.random)(),
      canRefresh: this.options.refresh !== undefined,
    };
    const { link, effects } = stepLink(this.current.link, input, env);
    let next: Partial<ClientState> = { link };
    for (const effect of effects) next = { ...next, ...this.applyEffect({ ...this.current, ...next }, effect) };
    this.change({ ...next, outbox: rejectIfGone(link, next.outbox ?? this.current.outbox) });
    for (const effect of effects) this.perform(effect);
    this.flush();
  }

  /** Returns the state changes of one effect. The caller merges the effects of a step into one change. */
  private applyEffect(state: ClientState, effect: LinkEffect): Partial<ClientState> {
    switch (effect.type) {
      case "event": {
        const desktop = applyEvent(state.desktop, effect.event);
        const ready = state.ready || effect.event.type === "session_state";
        let outbox = applyToOutbox(state.outbox, effect.event, this.clock.now());
        if (mayHaveMissedTurnEnd(effect.event)) outbox = reconcile(outbox, desktop);
        return { desktop, outbox, ready };
      }
      case "repeat":
        return { outbox: markForResend(state.outbox) };
      case "culprit":
        return { outbox: rejectOversized(state.outbox, effect.conn, effect.code, (s) => encodeFrame(s).length) };
    }
    return {};
  }

  private perform(effect: LinkEffect): void {
    switch (effect.type) {
      case "open":
        return this.open(effect.conn, effect.resume);
      case "close":
        return this.close(effect.code);
      case "auth":
        if (this.auth !== undefined) this.write({ type: "auth", data: this.auth });
        if (this.auth?.ticket !== undefined) this.auth = undefined; // a ticket is valid once
        return;
      case "pong":
        return this.write({ type: "pong", data: {} });
      case "event": {
        const e = effect.event;
        // A snapshot contains all monitors in the query of its connection.
        if (e.type === "session_state" && e.data.mode === "snapshot") {
          this.unseen = this.unseen.filter((id) => !this.asked.includes(id) && !e.data.monitors?.some((m) => m.monitorId === id));
        }
        if (e.type === "session_state") storeText(this.options.memory, this.seenKey, this.current.link.cursor);
        return this.options.onEvent?.(e, effect.replayed);
      }
      case "refresh":
        void this.refresh();
        return;
      case "probe":
        this.options.probe?.().then(
          (status) => this.step({ type: "probed", conn: effect.conn, status }),
          () => undefined, // the hub is unreachable; the next attempt finds out
        );
        return;
    }
  }

  private open(conn: number, resume: Position | undefined): void {
    const { options } = this;
    const query = new URLSearchParams({ client_id: options.clientId });
    if (resume !== undefined && this.unseen.length === 0) query.set("resume_from", resume);
    else this.addSeenMark(query);
    this.asked = [...this.monitors];
    for (const m of this.asked) query.append("monitor", m);
    const url = `${options.url.replace(/^http/, "ws").replace(/\/$/, "")}/ws/${encodeURIComponent(options.session)}?${query}`;
    let socket: Socket;
    try {
      socket = options.connect(url, ["everdesk.v2.batch", "everdesk.v2"]);
    } catch (e) {
      this.step({ type: "closed", conn, code: 1006, reason: String(e) });
      return;
    }
    this.socket = socket;
    socket.onopen = () => this.step({ type: "opened", conn });
    socket.onmessage = (e: { data: unknown }) => {
      if (typeof e.data === "string") this.step({ type: "frame", conn, ...decodeFrame(e.data) });
    };
    socket.onclose = (e: { code: number; reason: string }) => this.step({ type: "closed", conn, code: e.code, reason: e.reason });
    socket.onerror = () => undefined; // onclose follows with the close code
  }

  private close(code: number): void {
    const socket = this.socket;
    this.socket = undefined;
    if (socket === undefined) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close(code);
  }

  private async refresh(): Promise<void> {
    const auth = await this.options.refresh?.().catch(() => undefined);
    if (auth !== undefined) this.auth = auth;
    this.step({ type: auth === undefined ? "noToken" : "token" });
  }

  private write(frame: object): void {
    if (this.socket?.readyState === 1) this.socket.send(JSON.stringify(frame));
  }

  /** Writes the messages that are due, then sets the timer for the next one. */
  private flush(): void {
    let again = 0;
    while (this.current.link.released && this.current.link.phase === "live" && this.socket?.readyState === 1) {
      const now = this.clock.now();
      const { sent, at } = nextToWrite(this.current.outbox, this.current.link.conn, now);
      again = at;
      if (sent === undefined) break;
      this.change({ outbox: markWritten(this.current.outbox, sent.id, this.current.link.conn, now) });
      this.recordSubscription(sent);
      this.socket.send(encodeFrame(sent));
    }
    this.armTimer(again);
  }

  /** Adds the monitor of a SUBSCRIBE_MONITOR to the subscribed ones, if these are not all, so that later connections ask for it too. */
  private recordSubscription(sent: Message): void {
    if (sent.type !== "SUBSCRIBE_MONITOR" || this.monitors.length === 0) return;
    const { monitorId } = sent.data as SubscribeMonitor;
    if (this.monitors.includes(monitorId)) return;
    this.monitors.push(monitorId);
    this.unseen.push(monitorId);
  }

  private armTimer(again: number): void {
    this.clock.clearTimeout(this.timer);
    const due = nextTimer(this.current.link);
    const at = Math.min(due ?? Infinity, again || Infinity);
    if (at === Infinity) return;
    this.timer = this.clock.setTimeout(() => this.step({ type: "timer" }), Math.max(at - this.clock.now(), 0));
  }

  private change(part: Partial<ClientState>): void {
    const before = this.current;
    this.current = { ...before, ...part };
    if (this.current.outbox !== before.outbox) this.save();
    const changed = (Object.keys(part) as (keyof ClientState)[]).some((k) => this.current[k] !== before[k]);
    if (changed) this.options.onChange?.(this.current);
  }

  private save(): void {
    const text = serializeOutbox(this.current.outbox);
    if (text === this.saved || this.options.storage === undefined) return;
    this.saved = text;
    storeText(this.options.storage, this.storageKey, text === "[]" ? "" : text);
  }

  /** Adds the last position seen to the query. The hub then counts the connection as a reconnect, which has a higher rate limit. */
  private addSeenMark(query: URLSearchParams): void {
    const seen = this.options.memory?.getItem(this.seenKey) ?? "";
    if (seen !== "") query.set("seen", seen);
  }
}

/** Stores a text for later pages, or removes the key if the text is empty. */
function storeText(storage: Storage | undefined, key: string, text: string): void {
  try {
    if (text === "") storage?.removeItem(key);
    else storage?.setItem(key, text);
  } catch {
    // The storage is full or forbidden: the text is lost with this page.
  }
}

/** Rejects all unanswered messages if the session is deleted, because no hub will ever answer them. */
function rejectIfGone(link: Link, outbox: Outbox): Outbox {
  return isGone(link) ? rejectUnaccepted(outbox, 3001, errorCodes[3001].message) : outbox;
}

/** Whether the client may have missed the end of a turn: after a snapshot, or after a repeated acknowledgement. */
function mayHaveMissedTurnEnd(e: HubEvent): boolean {
  if (e.type === "session_state") return e.data.mode === "snapshot";
  return e.type === "MESSAGE_ACCEPTED" && e.data.duplicate === true;
}

/** The frame of a message. The id in the envelope wins over one in the payload. U+0000, which pasted text may contain and the hub rejects, is removed. */
function encodeFrame(s: Message): string {
  const frame = { type: s.type, message_id: isAnswered(s.type) ? s.id : undefined, data: s.data };
  const text = JSON.stringify(frame);
  return text.includes("\\u0000") ? JSON.stringify(frame, (_, v: unknown) => (typeof v === "string" ? v.replaceAll("\0", "") : v)) : text;
}

const browserClock: Clock = {
  now: () => Date.now(),
  setTimeout: (f, ms) => globalThis.setTimeout(f, ms),
  clearTimeout: (timer) => globalThis.clearTimeout(timer as number | undefined),
};

function randomId(): MessageID {
  return `m-${Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(36).padStart(2, "0")).join("")}`;
}
