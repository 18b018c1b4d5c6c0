// The connection as a pure state machine: (state, input, clock) → (state, effects). It opens connections, detects silent ones,
// keeps the cursor in the log and decides when to reconnect. The session in the hub does not depend on it.

import type { HubEvent } from "./event.js";
import { comparePositions, zero } from "./position.js";
import { closeCodes, type Position, type StoreStatus } from "./wire.gen.js";

/** The phases of the connection. */
export type Phase =
  | "idle" // not started
  | "connecting" // a socket is being opened, or no session_state has arrived yet
  | "live" // session_state has arrived
  | "waiting" // for the next attempt
  | "refreshing" // for a new token
  | "stopped"; // until the user retries, or permanently

export interface Link {
  readonly phase: Phase;
  /** The number of the newest connection; 0 before the first. */
  readonly conn: number;
  /** The position of the newest event; new connections resume there. */
  readonly cursor: Position;
  /** Whether the connection resumed at the cursor instead of receiving a snapshot. */
  readonly resumed: boolean;
  /** The number of events that the resumed connection replayed. */
  readonly caughtUp: number;
  /** The close code and reason of the last connection; 0 while connected. */
  readonly code: number;
  readonly reason: string;
  /** The time of the next attempt in phase waiting, in Unix ms. */
  readonly retryAt: number;
  /** The time the connection was lost; 0 while live. */
  readonly downSince: number;
  /** The last store_status of this connection; undefined if the store was never unavailable. */
  readonly store: StoreStatus | undefined;
  /** Counters over all connections. */
  readonly stats: LinkStats;

  /** Failed attempts since the last good connection. */
  readonly failed: number;
  /** Whether a new token was fetched since the last session_state. It prevents a refresh loop. */
  readonly refreshed: boolean;
  readonly opened: boolean;
  /** The time the connection became live. */
  readonly since: number;
  /** The last position of the replay. */
  readonly until: Position;
  /** Whether messages may be written. */
  readonly released: boolean;
  /** The longest allowed silence of the hub, in ms, and the time of its last frame. */
  readonly silenceLimit: number;
  readonly heard: number;
  /** The reconnect time that the hub announced in a reconnect event; 0 if none. */
  readonly reconnectAt: number;
  /** The earliest time of an attempt, from retry_after of the close reason. */
  readonly notBefore: number;
}

export interface LinkStats {
  connections: number;
  snapshots: number;
  events: number;
  duplicates: number;
  unreadable: number;
}

/** The inputs of the state machine. Inputs of older connections are ignored. */
export type LinkInput =
  | { type: "start" }
  | { type: "stop" }
  | { type: "retry" } // at the user's request
  | { type: "opened"; conn: number }
  | { type: "frame"; conn: number; events: HubEvent[]; unreadable: number }
  | { type: "closed"; conn: number; code: number; reason: string }
  | { type: "probed"; conn: number; status: number } // the HTTP status of a plain request
  | { type: "timer" }
  | { type: "awake" } // the page is visible, unfrozen or online again
  | { type: "token" } // a new token was fetched
  | { type: "noToken" };

/** The effects that the client performs, in this order. */
export type LinkEffect =
  | { type: "open"; conn: number; resume: Position | undefined }
  | { type: "close"; conn: number; code: number }
  | { type: "auth"; conn: number } // send the credentials, before every other frame
  | { type: "pong"; conn: number }
  | { type: "event"; event: HubEvent; replayed: boolean }
  | { type: "repeat" } // replies may be missing: send unanswered messages again
  | { type: "release"; conn: number } // messages may be written
  | { type: "culprit"; conn: number; code: number } // the hub closed the connection because of a frame of this client
  | { type: "probe"; conn: number }
  | { type: "refresh" };

/** The environment of one step. */
export interface Env {
  now: number;
  /** A random number from 0 to 1, for jitter. */
  random: number;
  /** Whether a new token can be fetched. */
  canRefresh: boolean;
}

/** Timeouts and backoff of connections, in ms. */
export const timeouts = {
  /** For the handshake, and for the first event after it. */
  connect: 15_000,
  /** How long messages wait for the end of the replay, which may be on a monitor that this connection does not receive. */
  replay: 1_000,
  /** A connection that lasted this long resets the backoff. */
  stable: 10_000,
  /** A timer that fires later than this was delayed by a frozen tab. */
  late: 5_000,
  firstBackoff: 500,
  /** The longest backoff of the first earlyTries attempts, about a minute of them, while the hub may be restarting. */
  earlyBackoff: 5_000,
  earlyTries: 24,
  maxBackoff: 30_000,
} as const;

export function newLink(cursor: Position = zero): Link {
  return {
    phase: "idle",
    conn: 0,
    cursor,
    resumed: false,
    caughtUp: 0,
    code: 0,
    reason: "",
    retryAt: 0,
    downSince: 0,
    store: undefined,
    stats: { connections: 0, snapshots: 0, events: 0, duplicates: 0, unreadable: 0 },
    failed: 0,
    refreshed: false,
    opened: false,
    since: 0,
    until: zero,
    released: false,
    silenceLimit: timeouts.connect,
    heard: 0,
    reconnectAt: 0,
    notBefore: 0,
  };
}

/** Whether the session was deleted or does not exist. */
export function isGone(link: Link): boolean {
  return link.phase === "stopped" && (link.code === 4404 || link.code === 4410);
}

/** Whether the hub is connected but its store is unavailable: the hub accepts and sends nothing new, and loses nothing. */
export function isStoreUnavailable(link: Link): boolean {
  return hasSocket(link) && link.store?.available === false;
}

/** Whether the store is unavailable because it has no space left. */
export function isStoreFull(link: Link): boolean {
  return isStoreUnavailable(link) && link.store?.full === true;
}

/** The time of the next timer input; undefined if none is needed. */
export function nextTimer(link: Link): number | undefined {
  switch (link.phase) {
    case "waiting":
      return link.retryAt;
    case "connecting":
      return link.heard + link.silenceLimit;
    case "live": {
      const watch = link.heard + link.silenceLimit;
      return link.released ? watch : Math.min(watch, link.since + timeouts.replay);
    }
  }
  return undefined;
}

type Step = { link: Link; effects: LinkEffect[] };

/** Applies one input. */
export function stepLink(link: Link, input: LinkInput, env: Env): Step {
  if ("conn" in input && input.conn !== link.conn) return { link, effects: [] };
  switch (input.type) {
    case "start":
      return link.phase === "idle" ? open({ ...link, downSince: env.now }, env) : none(link);
    case "stop":
      return stop(link, env);
    case "retry":
      return link.phase === "waiting" || link.phase === "stopped" ? open({ ...link, refreshed: false }, env) : none(link);
    case "opened":
      return { link: { ...link, opened: true, heard: env.now }, effects: [{ type: "auth", conn: link.conn }] };
    case "frame":
      return applyFrame(link, input.events, input.unreadable, env);
    case "closed":
      return hasSocket(link) ? afterClose(link, input.code, input.reason, env) : none(link);
    case "probed":
      return afterProbe(link, input.status, env);
    case "timer":
      return timer(link, env);
    case "awake":
      return awake(link, env);
    case "token":
      if (link.phase === "refreshing") return open(link, env);
      return link.phase === "live" ? { link, effects: [{ type: "auth", conn: link.conn }] } : none(link);
    case "noToken":
      return link.phase === "refreshing" ? none({ ...link, phase: "stopped" }) : none(link);
  }
}

function none(link: Link): Step {
  return { link, effects: [] };
}

function hasSocket(link: Link): boolean {
  return link.phase === "connecting" || link.phase === "live";
}

function open(link: Link, env: Env): Step {
  const conn = link.conn + 1;
  const next: Link = {
    ...link,
    phase: "connecting",
    conn,
    store: undefined,
    opened: false,
    until: zero,
    released: false,
    silenceLimit: timeouts.connect,
    heard: env.now,
    reconnectAt: 0,
  };
  return { link: next, effects: [{ type: "open", conn, resume: link.cursor === zero ? undefined : link.cursor }] };
}

function stop(link: Link, env: Env): Step {
  const effects: LinkEffect[] = hasSocket(link) ? [{ type: "close", conn: link.conn, code: 1000 }] : [];
  return { link: { ...link, phase: "stopped", code: 1000, reason: "", downSince: link.downSince || env.now }, effects };
}

/** Whether a timer is long overdue. Then the tab was frozen, and the socket may be dead without a close event. */
function wasFrozen(link: Link, now: number): boolean {
  return hasSocket(link) && now > link.heard + link.silenceLimit + timeouts.late;
}

function timer(link: Link, env: Env): Step {
  if (link.phase === "waiting") return env.now >= link.retryAt ? open(link, env) : none(link);
  if (!hasSocket(link)) return none(link);
  if (wasFrozen(link, env.now)) return closeConnection(link, "the tab was asleep", env, true);
  if (env.now >= link.heard + link.silenceLimit) return closeConnection(link, "the hub was silent for too long", env, false);
  if (link.phase === "live" && !link.released && env.now >= link.since + timeouts.replay) return release(link);
  return none(link);
}

function awake(link: Link, env: Env): Step {
  if (link.phase === "waiting") return env.now >= link.notBefore ? open(link, env) : none(link);
  if (hasSocket(link) && env.now >= link.heard + link.silenceLimit) return closeConnection(link, "the tab was asleep", env, true);
  return none(link);
}

/** Closes the connection from the client's side. */
function closeConnection(link: Link, reason: string, env: Env, atOnce: boolean): Step {
  const close: LinkEffect = { type: "close", conn: link.conn, code: 4000 };
  if (atOnce) {
    const step = open(down({ ...link, code: 0, reason }, env), env);
    return { link: step.link, effects: [close, ...step.effects] };
  }
  const step = afterClose(link, 0, reason, env);
  return { link: step.link, effects: [close, ...step.effects] };
}

function release(link: Link): Step {
  return { link: { ...link, released: true }, effects: [{ type: "release", conn: link.conn }] };
}

function down(link: Link, env: Env): Link {
  return { ...link, downSince: link.downSince || env.now };
}

/** Applies the events of one frame, in order. */
function applyFrame(link: Link, events: HubEvent[], unreadable: number, env: Env): Step {
  if (!hasSocket(link)) return none(link);
  const frozen = wasFrozen(link, env.now);
  const effects: LinkEffect[] = [];
  link = { ...link, heard: env.now, stats: { ...link.stats, unreadable: link.stats.unreadable + unreadable } };
  for (const e of events) {
    const step = applyEvent(link, e, env);
    link = step.link;
    effects.push(...step.effects);
    if (!hasSocket(link)) return { link, effects }; // closed above: the hub violated the protocol
  }
  if (frozen) {
    const step = closeConnection(link, "the tab was asleep", env, true);
    return { link: step.link, effects: [...effects, ...step.effects] };
  }
  return { link, effects };
}

function applyEvent(link: Link, e: HubEvent, env: Env): Step {
  if (e.type === "ping") return { link, effects: [{ type: "pong", conn: link.conn }] };
  const effects: LinkEffect[] = [];
  if (e.at === zero) {
    if (e.type === "session_state") link = applySessionState(link, e.data, effects, env);
    if (e.type === "reconnect") link = { ...link, reconnectAt: env.now + e.data.after_ms };
    // "available" counts only after "unavailable".
    if (e.type === "store_status" && (!e.data.available || isStoreUnavailable(link))) link = { ...link, store: e.data };
    if (e.type === "auth_refresh_required" && env.canRefresh) effects.push({ type: "refresh" });
    effects.push({ type: "event", event: e, replayed: false });
  } else {
    if (link.phase !== "live") return closeConnection(link, "the hub sent events before session_state", env, false);
    if (comparePositions(e.at, link.cursor) <= 0) return none(count(link, "duplicates"));
    const replayed = comparePositions(e.at, link.until) <= 0;
    link = { ...count(link, "events"), cursor: e.at, failed: 0, caughtUp: link.caughtUp + (replayed ? 1 : 0) };
    effects.push({ type: "event", event: e, replayed });
    if (e.type === "session_state") {
      link = count(link, "snapshots");
      effects.push({ type: "repeat" });
    }
  }
  if (link.phase === "live" && !link.released && comparePositions(link.cursor, link.until) >= 0) {
    const step = release(link);
    return { link: step.link, effects: [...effects, ...step.effects] };
  }
  return { link, effects };
}

function count(link: Link, what: keyof LinkStats): Link {
  return { ...link, stats: { ...link.stats, [what]: link.stats[what] + 1 } };
}

/** Applies a session_state. A snapshot replaces the cursor, even by an older position. */
function applySessionState(
  link: Link,
  s: { mode: string; heartbeat_ms: number; replay_until?: Position; last_message_id?: Position },
  effects: LinkEffect[],
  env: Env,
): Link {
  const first = link.phase !== "live";
  if (s.heartbeat_ms > 0) link = { ...link, silenceLimit: s.heartbeat_ms * 1.5 };
  if (s.mode === "snapshot") {
    link = { ...count(link, "snapshots"), cursor: s.last_message_id ?? zero };
    effects.push({ type: "repeat" });
  }
  link = { ...link, refreshed: false, until: s.replay_until ?? zero };
  if (!first) return link;
  const resumed = s.mode === "resume";
  return { ...count(link, "connections"), phase: "live", since: env.now, resumed, caughtUp: 0, code: 0, reason: "", downSince: 0 };
}

/** Decides what follows a closed connection. */
function afterClose(link: Link, code: number, reason: string, env: Env): Step {
  const lasted = link.phase === "live" && env.now - link.since >= timeouts.stable;
  const failed = (lasted ? 0 : link.failed) + 1;
  const effects: LinkEffect[] = [];
  const opened = link.opened;
  link = down({ ...link, code, reason, failed }, env);
  if (code === 1003 || code === 1007 || code === 1009) effects.push({ type: "culprit", conn: link.conn, code });
  // Browsers hide why a handshake failed; a plain HTTP request shows the status.
  if (!opened && code === 1006) effects.push({ type: "probe", conn: link.conn });
  const longest = failed <= timeouts.earlyTries ? timeouts.earlyBackoff : timeouts.maxBackoff;
  const backoff = env.random * Math.min(timeouts.firstBackoff * 2 ** Math.min(failed - 1, 10), longest);
  const soon = failed === 1 ? 0 : backoff;
  let wait = link.reconnectAt > 0 ? Math.max(link.reconnectAt - env.now, 0) : backoff;
  let notBefore = 0;
  switch (reconnectAfter(code)) {
    case "never":
      return { link: { ...link, phase: "stopped" }, effects };
    case "user":
      if (code === 4401 && env.canRefresh && !link.refreshed) {
        return { link: { ...link, phase: "refreshing", refreshed: true }, effects: [...effects, { type: "refresh" }] };
      }
      return { link: { ...link, phase: "stopped" }, effects };
    case "now":
      wait = soon;
      break;
    case "later":
      wait += retryAfter(reason);
      notBefore = env.now + retryAfter(reason);
      break;
  }
  return { link: { ...link, phase: "waiting", retryAt: env.now + wait, notBefore }, effects };
}

/** How a client reconnects after a close code. Unknown codes, such as that of a lost connection, mean backoff. */
export function reconnectAfter(code: number): "never" | "user" | "now" | "later" | "backoff" {
  return Object.hasOwn(closeCodes, code) ? closeCodes[code as keyof typeof closeCodes].reconnect : "backoff";
}

/** The retry_after of a close reason, converted from seconds to ms. */
function retryAfter(reason: string): number {
  const match = /retry_after\D{0,4}(\d{1,6}(?:\.\d{1,3})?)/.exec(reason);
  return match === null ? 0 : Number(match[1]) * 1000;
}

/** The close codes that correspond to HTTP statuses. */
const statusCodes = new Map([
  [401, 4401],
  [403, 4403],
  [404, 4404],
  [410, 4410],
]);

/** Applies the HTTP status of the plain request after a failed handshake. */
function afterProbe(link: Link, status: number, env: Env): Step {
  const code = statusCodes.get(status);
  if (link.phase !== "waiting" || code === undefined) return none(link);
  return afterClose({ ...link, failed: link.failed - 1 }, code, "", env);
}
