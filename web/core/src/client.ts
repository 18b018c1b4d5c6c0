// Puts the parts together: one session in one tab. It owns the socket, the mirror of the desktop and the outbox, and
// does what the machine of the connection wants. Everything from outside comes in through its options, so that tests
// need no browser.

import { decodeFrame, type HubEvent } from "./event.js";
import { isGone, type Link, type LinkEffect, type LinkInput, newLink, nextTimer, stepLink } from "./link.js";
import { applyToOutbox, enqueue, isAnswered, type Message, markForResend, markWritten, nextToWrite, type Outbox, reconcile, rejectOversized, rejectUnaccepted, restoreOutbox, serializeOutbox } from "./outbox.js";
import { applyEvent } from "./reduce.js";
import { type DesktopState, emptyDesktop } from "./state.js";
import type { Auth, ClientPayloads, MessageID, MonitorID, Position, SessionID, SubscribeMonitor } from "./wire.gen.js";
import { errorCodes } from "./wire.gen.js";

/** What a client needs of a WebSocket. Who makes one says what its events are. */
export interface Socket {
  readonly readyState: number;
  onopen: ((e: never) => void) | null;
  onmessage: ((e: never) => void) | null;
  onclose: ((e: never) => void) | null;
  onerror: ((e: never) => void) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
}

/** Time, as tests may replace it. */
export interface Clock {
  now(): number;
  setTimeout(f: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** What a client needs of sessionStorage. */
export type Storage = Pick<globalThis.Storage, "getItem" | "setItem" | "removeItem">;

export interface ClientOptions {
  /** The hub's address, as in ws://127.0.0.1:8080. */
  url: string;
  session: SessionID;
  /** How the tab names itself over all its connections. */
  clientId: string;
  /** Who is there. What somebody else left unsent in this tab is not sent. */
  user?: string;
  /** The only monitors to be shown; none means all. */
  monitors?: MonitorID[];
  /** Credentials for the first frame, where no cookie says who we are. */
  auth?: Auth;
  /** Gives new credentials, or undefined when there are none. */
  refresh?: () => Promise<Auth | undefined>;
  /** Asks the hub by a plain request why it takes no connection: an HTTP status. */
  probe?: () => Promise<number>;
  connect: (url: string, protocols: string[]) => Socket;
  clock?: Clock;
  random?: () => number;
  newId?: () => MessageID;
  storage?: Storage;
  /** Where the tabs of a browser remember what they have seen, so that a page that is loaded again is known to be back. */
  memory?: Storage;
  /** Every event but pings, after the mirror has taken it. */
  onEvent?: (event: HubEvent, replayed: boolean) => void;
  /** Something in the state of the client has changed. */
  onChange?: (state: ClientState) => void;
}

/** All there is to draw. Parts that have not changed are the same objects. */
export interface ClientState {
  readonly desktop: DesktopState;
  readonly link: Link;
  readonly outbox: Outbox;
  /** Whether the desktop is known at all. */
  readonly ready: boolean;
}

/** A tab's hold on a session. */
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
  /** The only monitors shown, unless there are none. The mirror knows nothing yet of those that are unseen. */
  private monitors: MonitorID[];
  private unseen: MonitorID[] = [];
  /** Those that the newest connection was asked for. */
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

  /** How the tab names itself. */
  get clientId(): string {
    return this.options.clientId;
  }

  start(): void {
    this.step({ type: "start" });
  }

  /** Ends the connection for good. The session lives on. */
  stop(): void {
    this.step({ type: "stop" });
  }

  /** Tries at once, because the user wants it. */
  retry(): void {
    this.step({ type: "retry" });
  }

  /** The page is visible, thawed or online again. */
  wake(): void {
    this.step({ type: "awake" });
  }

  /** The credentials are others now. */
  setAuth(auth: Auth): void {
    this.auth = auth;
    this.step({ type: "token" });
    this.step({ type: "retry" });
  }

  /** Sends a message and gives its id, or undefined when too many are unanswered. */
  send<T extends keyof ClientPayloads>(type: T, data: ClientPayloads[T]): MessageID | undefined {
    const given = (data as { messageId?: MessageID }).messageId;
    // DELETE_QUEUED_MESSAGE names another message there.
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

  /** What an effect does to the state. All effects of a step are one change. */
  private applyEffect(state: ClientState, effect: LinkEffect): Partial<ClientState> {
    switch (effect.type) {
      case "event": {
        const desktop = applyEvent(state.desktop, effect.event);
        const ready = state.ready || effect.event.type === "session_state";
        let outbox = applyToOutbox(state.outbox, effect.event, this.clock.now());
        if (mayHaveMissedTurnEnd(effect.event)) outbox = reconcile(outbox, desktop);
        return { desktop: desktop, outbox, ready };
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
        if (this.auth?.ticket !== undefined) this.auth = undefined; // it is good for one use
        return;
      case "pong":
        return this.write({ type: "pong", data: {} });
      case "event": {
        const e = effect.event;
        // A snapshot has all monitors that its connection was asked for.
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
          () => undefined, // nobody is there; the next try tells
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
    socket.onerror = () => undefined; // onclose follows and says more
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

  /** Writes the messages that are due, and sets the timer for what comes next. */
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

  /** Where only some monitors are shown, SUBSCRIBE_MONITOR adds one, and further connections are asked for it too. */
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

  /** Says that a tab of this browser has been here before. Who cannot prove it may come less often. */
  private addSeenMark(query: URLSearchParams): void {
    const seen = this.options.memory?.getItem(this.seenKey) ?? "";
    if (seen !== "") query.set("seen", seen);
  }
}

/** Keeps a text for the pages after this one, or forgets it. */
function storeText(storage: Storage | undefined, key: string, text: string): void {
  try {
    if (text === "") storage?.removeItem(key);
    else storage?.setItem(key, text);
  } catch {
    // The storage is full or forbidden: this page has it all the same.
  }
}

/** What is sent to a session that is not there any more is refused, so that its text is not left waiting for ever. */
function rejectIfGone(link: Link, outbox: Outbox): Outbox {
  return isGone(link) ? rejectUnaccepted(outbox, 3001, errorCodes[3001].message) : outbox;
}

/** Whether the end of a turn may have been passed over: in a snapshot, or when the hub answers for the second time. */
function mayHaveMissedTurnEnd(e: HubEvent): boolean {
  if (e.type === "session_state") return e.data.mode === "snapshot";
  return e.type === "MESSAGE_ACCEPTED" && e.data.duplicate === true;
}

/** The frame of a message. The id is the envelope's, whatever the payload says. The hub refuses U+0000, which a pasted text may hold, so it is left out. */
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
