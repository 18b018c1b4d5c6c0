// The connection as a pure machine: (state, input, clock) → (state, effects). It opens connections, watches them, knows
// where in the log it is, and decides when to try again. It says nothing about the session, which lives on without it.

import type { HubEvent } from "./event.js";
import { comparePositions, zero } from "./position.js";
import { closeCodes, type Position, type StoreStatus } from "./wire.gen.js";

/** How the connection is doing. */
export type Phase =
  | "idle" // not started
  | "connecting" // a socket is being opened, or has said nothing yet
  | "live" // the session's state or the replay has begun
  | "waiting" // for the next try
  | "refreshing" // for a new token
  | "stopped"; // until the user does something, or for good

export interface Link {
  readonly phase: Phase;
  /** The number of the newest connection; there was none if it is 0. */
  readonly conn: number;
  /** The newest event seen, where a new connection resumes. */
  readonly cursor: Position;
  /** Whether the connection goes on where the last one ended. */
  readonly resumed: boolean;
  /** Events that a resumed connection brought from before. */
  readonly caughtUp: number;
  /** Why there is no connection: a close code and what the hub said. */
  readonly code: number;
  readonly reason: string;
  /** When the next try is due, in phase waiting. */
  readonly retryAt: number;
  /** Since when there is no live connection; 0 while there is one. */
  readonly downSince: number;
  /** What the hub said last of its store over this connection; undefined if the store was never away. */
  readonly store: StoreStatus | undefined;
  /** How often session_state came, and what came over all connections. */
  readonly stats: LinkStats;

  /** Tries since the last good connection. */
  readonly failed: number;
  /** A new token was fetched and the hub has not let us in since. */
  readonly refreshed: boolean;
  readonly opened: boolean;
  /** When the connection began. */
  readonly since: number;
  /** The end of the replay. */
  readonly until: Position;
  /** Messages may be written. */
  readonly released: boolean;
  /** How long the hub may be silent, and since when it is. */
  readonly silenceLimit: number;
  readonly heard: number;
  /** When the hub wants us back; 0 if it did not say. */
  readonly reconnectAt: number;
  /** Nobody may try before that. */
  readonly notBefore: number;
}

export interface LinkStats {
  connections: number;
  snapshots: number;
  events: number;
  duplicates: number;
  unreadable: number;
}

/** What happens to the machine. Those of a connection that is not the newest are late and mean nothing. */
export type LinkInput =
  | { type: "start" }
  | { type: "stop" }
  | { type: "retry" } // the user wants it, or has done something about it
  | { type: "opened"; conn: number }
  | { type: "frame"; conn: number; events: HubEvent[]; unreadable: number }
  | { type: "closed"; conn: number; code: number; reason: string }
  | { type: "probed"; conn: number; status: number } // what a plain request is answered with
  | { type: "timer" }
  | { type: "awake" } // the page is visible again, is thawed or is online again
  | { type: "token" } // there is a new token
  | { type: "noToken" };

/** What the machine wants done, in this order. */
export type LinkEffect =
  | { type: "open"; conn: number; resume: Position | undefined }
  | { type: "close"; conn: number; code: number }
  | { type: "auth"; conn: number } // say who we are, before everything else
  | { type: "pong"; conn: number }
  | { type: "event"; event: HubEvent; replayed: boolean }
  | { type: "repeat" } // answers may have been passed over
  | { type: "release"; conn: number } // messages may be written
  | { type: "culprit"; conn: number; code: number } // a frame of ours was refused
  | { type: "probe"; conn: number }
  | { type: "refresh" };

/** What the machine cannot know by itself. */
export interface Env {
  now: number;
  /** From 0 to 1. */
  random: number;
  /** Whether a new token can be had. */
  canRefresh: boolean;
}

/** The patience of a connection, in ms. */
export const timeouts = {
  /** For the handshake, and for the first event after it. */
  connect: 15_000,
  /** Messages are held back for a replay whose end we may not be shown, because it is on a monitor we did not ask for. */
  replay: 1_000,
  /** A connection that lasted so long was good, even if nothing happened. */
  stable: 10_000,
  /** A timer that is later than that means that the tab was frozen. */
  late: 5_000,
  firstBackoff: 500,
  /** The longest wait for the first tries, about a minute of them: somebody may be watching a hub that begins anew. */
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

/** Whether the session is not there any more. */
export function isGone(link: Link): boolean {
  return link.phase === "stopped" && (link.code === 4404 || link.code === 4410);
}

/** Whether the hub is there and cannot reach its store: nothing new is taken and nothing new is shown, and nothing is lost. */
export function isStoreUnavailable(link: Link): boolean {
  return hasSocket(link) && link.store?.available === false;
}

/** When the machine wants a timer input next, or undefined when it needs none. */
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

/** Does one step. */
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

/** Whether a timer that should have fired long ago has not: the tab was frozen, and what is left of the link is not trusted. */
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

/** Ends a connection from here. */
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

/** Takes what came in one frame, in order. */
function applyFrame(link: Link, events: HubEvent[], unreadable: number, env: Env): Step {
  if (!hasSocket(link)) return none(link);
  const frozen = wasFrozen(link, env.now);
  const effects: LinkEffect[] = [];
  link = { ...link, heard: env.now, stats: { ...link.stats, unreadable: link.stats.unreadable + unreadable } };
  for (const e of events) {
    const step = applyEvent(link, e, env);
    link = step.link;
    effects.push(...step.effects);
    if (!hasSocket(link)) return { link, effects }; // the hub does not keep to the protocol
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
    // A store that was never away is not back.
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

/** Takes a session_state: a snapshot replaces what was known, even by something older. */
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

/** Says what to do after a connection ended. */
function afterClose(link: Link, code: number, reason: string, env: Env): Step {
  const lasted = link.phase === "live" && env.now - link.since >= timeouts.stable;
  const failed = (lasted ? 0 : link.failed) + 1;
  const effects: LinkEffect[] = [];
  const opened = link.opened;
  link = down({ ...link, code, reason, failed }, env);
  if (code === 1003 || code === 1007 || code === 1009) effects.push({ type: "culprit", conn: link.conn, code });
  // A browser does not say why a handshake failed; a plain request is told.
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

/** What a client does after a close. A code we do not use, such as that of a lost connection, is a reason to try again. */
export function reconnectAfter(code: number): "never" | "user" | "now" | "later" | "backoff" {
  return Object.hasOwn(closeCodes, code) ? closeCodes[code as keyof typeof closeCodes].reconnect : "backoff";
}

/** The retry_after of a close reason, which is in seconds, in ms. */
function retryAfter(reason: string): number {
  const match = /retry_after\D{0,4}(\d{1,6}(?:\.\d{1,3})?)/.exec(reason);
  return match === null ? 0 : Number(match[1]) * 1000;
}

/** The close codes that say the same as the status of a refused request. */
const statusCodes = new Map([
  [401, 4401],
  [403, 4403],
  [404, 4404],
  [410, 4410],
]);

/** Takes what a plain request was answered with, after a handshake that failed. */
function afterProbe(link: Link, status: number, env: Env): Step {
  const code = statusCodes.get(status);
  if (link.phase !== "waiting" || code === undefined) return none(link);
  return afterClose({ ...link, failed: link.failed - 1 }, code, "", env);
}
