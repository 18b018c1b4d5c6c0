import { describe, expect, it } from "vitest";
import { decodeEvent, type HubEvent } from "../src/event.js";
import { type Env, isStoreFull, isStoreUnavailable, type Link, type LinkEffect, type LinkInput, newLink, nextTimer, reconnectAfter, stepLink } from "../src/link.js";
import { closeCodes } from "../src/wire.gen.js";

/** Drives the state machine of a link. */
class LinkDriver {
  link: Link = newLink();
  env: Env = { now: 1_000_000, random: 0.5, canRefresh: true };

  do(input: LinkInput): LinkEffect[] {
    const step = stepLink(this.link, input, this.env);
    this.link = step.link;
    return step.effects;
  }

  /** Delivers events on the newest connection. */
  frame(...events: HubEvent[]): LinkEffect[] {
    return this.do({ type: "frame", conn: this.link.conn, events, unreadable: 0 });
  }

  closed(code: number, reason = ""): LinkEffect[] {
    return this.do({ type: "closed", conn: this.link.conn, code, reason });
  }

  /** Advances to the next timer, late by some ms. */
  timer(late = 0): LinkEffect[] {
    this.env.now = nextTimer(this.link)! + late;
    return this.do({ type: "timer" });
  }

  /** Establishes a live connection. */
  live(): this {
    if (this.link.phase === "idle") this.do({ type: "start" });
    this.do({ type: "opened", conn: this.link.conn });
    this.frame(snapshot("1-5"));
    return this;
  }
}

function event(type: string, at: string | undefined, data: unknown): HubEvent {
  return decodeEvent(JSON.stringify({ type, session_id: "s", message_id: at, timestamp: "2026-11-15T00:00:00.000Z", data }))!;
}

const snapshot = (at: string) => event("session_state", undefined, { mode: "snapshot", heartbeat_ms: 30_000, last_message_id: at });
const resume = (until: string) => event("session_state", undefined, { mode: "resume", heartbeat_ms: 30_000, replay_until: until });
const rename = (at: string) => event("SESSION_RENAMED", at, { title: at });
const store = (available: boolean, since = 5, full?: true) => event("store_status", undefined, { available, since, full });
const types = (effects: LinkEffect[]) => effects.map((e) => e.type);

describe("connecting", () => {
  it("opens, identifies itself, applies the snapshot, releases messages", () => {
    const rig = new LinkDriver();
    expect(rig.do({ type: "start" })).toEqual([{ type: "open", conn: 1, resume: undefined }]);
    expect(rig.do({ type: "opened", conn: 1 })).toEqual([{ type: "auth", conn: 1 }]);
    expect(types(rig.frame(snapshot("1-5")))).toEqual(["repeat", "event", "release"]);
    expect(rig.link).toMatchObject({ phase: "live", cursor: "1-5", resumed: false, downSince: 0 });
  });

  it("gives up on a hub that sends nothing", () => {
    const rig = new LinkDriver();
    rig.do({ type: "start" });
    expect(types(rig.timer())).toEqual(["close"]);
    expect(rig.link.phase).toBe("waiting");
  });

  it("ignores events before session_state", () => {
    const rig = new LinkDriver();
    rig.do({ type: "start" });
    expect(types(rig.frame(rename("1-1")))).toEqual(["close"]);
    expect(rig.link).toMatchObject({ phase: "waiting", cursor: "0-0" });
  });

  it("ignores events of an older connection", () => {
    const rig = new LinkDriver().live();
    rig.closed(1006);
    rig.timer();
    expect(rig.do({ type: "frame", conn: 1, events: [rename("1-6")], unreadable: 0 })).toEqual([]);
    expect(rig.do({ type: "closed", conn: 1, code: 4404, reason: "" })).toEqual([]);
    expect(rig.link).toMatchObject({ phase: "connecting", conn: 2, cursor: "1-5" });
  });
});

describe("the cursor", () => {
  it("resumes at its position and holds messages back until the replay ends", () => {
    const rig = new LinkDriver().live();
    rig.frame(rename("1-6"));
    rig.closed(1006);
    expect(rig.timer()).toEqual([{ type: "open", conn: 2, resume: "1-6" }]);
    rig.do({ type: "opened", conn: 2 });
    expect(types(rig.frame(resume("1-8")))).toEqual(["event"]);
    expect(rig.frame(rename("1-7"))).toMatchObject([{ type: "event", replayed: true }]);
    expect(types(rig.frame(rename("1-8")))).toEqual(["event", "release"]);
    expect(rig.frame(rename("1-10"))).toMatchObject([{ type: "event", replayed: false }]);
    expect(rig.link).toMatchObject({ cursor: "1-10", resumed: true, caughtUp: 2 });
  });

  it("releases messages after a second when the end of the replay does not arrive", () => {
    const rig = new LinkDriver().live();
    rig.closed(1006);
    rig.timer();
    rig.do({ type: "opened", conn: 2 });
    rig.frame(resume("1-8"));
    expect(types(rig.timer())).toEqual(["release"]);
    expect(rig.link.phase).toBe("live");
  });

  it("drops events before its position, and compares positions as numbers", () => {
    const rig = new LinkDriver().live();
    expect(rig.frame(rename("1-5"), rename("1-4"))).toEqual([]);
    expect(types(rig.frame(rename("1-10"), rename("1-9"), rename("2-0")))).toEqual(["event", "event"]);
    expect(rig.link.stats).toMatchObject({ events: 2, duplicates: 3 });
  });

  it("goes back with a snapshot", () => {
    const rig = new LinkDriver().live();
    rig.frame(snapshot("1-2"));
    expect(rig.link.cursor).toBe("1-2");
    expect(types(rig.frame(rename("1-3")))).toEqual(["event"]);
  });
});

describe("watching", () => {
  it("answers pings and closes a link after 1.5 intervals of silence", () => {
    const rig = new LinkDriver().live();
    rig.env.now += 40_000;
    expect(types(rig.frame(event("ping", undefined, {})))).toEqual(["pong"]);
    rig.env.now += 44_999;
    expect(rig.do({ type: "timer" })).toEqual([]);
    rig.env.now += 1;
    expect(types(rig.do({ type: "timer" }))).toEqual(["close"]);
    expect(rig.link.phase).toBe("waiting");
  });

  it("reconnects at once after the tab was frozen", () => {
    const rig = new LinkDriver().live();
    expect(types(rig.timer(60_000))).toEqual(["close", "open"]);
    expect(rig.link).toMatchObject({ phase: "connecting", failed: 0 });
  });

  it("applies the buffered events of a frozen tab's socket, and then reconnects", () => {
    const rig = new LinkDriver().live();
    rig.env.now += 600_000;
    expect(rig.frame(rename("1-6"))).toMatchObject([{ type: "event" }, { type: "close" }, { type: "open", resume: "1-6" }]);
  });

  it("keeps a link with recent events when the tab becomes visible", () => {
    const rig = new LinkDriver().live();
    rig.env.now += 44_000;
    expect(rig.do({ type: "awake" })).toEqual([]);
    rig.env.now += 1_000;
    expect(types(rig.do({ type: "awake" }))).toEqual(["close", "open"]);
  });
});

describe("the hub's store", () => {
  it("is unavailable and available again while the connection lasts", () => {
    const rig = new LinkDriver().live();
    expect([isStoreUnavailable(rig.link), rig.link.store]).toEqual([false, undefined]);
    expect(types(rig.frame(store(false, 7)))).toEqual(["event"]);
    expect(rig.link).toMatchObject({ phase: "live", downSince: 0, cursor: "1-5", store: { available: false, since: 7 } });
    expect(isStoreUnavailable(rig.link)).toBe(true);
    rig.frame(rename("1-6"));
    expect(isStoreUnavailable(rig.link)).toBe(true);
    rig.frame(store(true, 9));
    expect([isStoreUnavailable(rig.link), rig.link.store]).toMatchObject([false, { available: true, since: 9 }]);
  });

  it("is not reported as back when it was never unavailable", () => {
    const rig = new LinkDriver().live();
    rig.frame(store(true));
    expect(rig.link.store).toBe(undefined);
  });

  it("may be unavailable before the session's state arrives", () => {
    const rig = new LinkDriver();
    rig.do({ type: "start" });
    rig.do({ type: "opened", conn: 1 });
    rig.frame(store(false));
    expect([rig.link.phase, isStoreUnavailable(rig.link)]).toEqual(["connecting", true]);
  });

  it("is unknown without a connection, and a new connection starts without the last status", () => {
    const rig = new LinkDriver().live();
    rig.frame(store(false));
    rig.closed(1006);
    expect([rig.link.phase, isStoreUnavailable(rig.link)]).toEqual(["waiting", false]);
    rig.timer();
    expect([isStoreUnavailable(rig.link), rig.link.store]).toEqual([false, undefined]);
    rig.do({ type: "frame", conn: 1, events: [store(false)], unreadable: 0 }); // too late
    expect(rig.link.store).toBe(undefined);
    rig.live().frame(store(true));
    expect(rig.link).toMatchObject({ phase: "live", store: undefined });
  });

  it("distinguishes a full store from one that does not answer", () => {
    const rig = new LinkDriver().live();
    const states = [store(false, 5, true), store(false), store(false, 6, true), store(true)].map((e) => {
      rig.frame(e);
      return [isStoreUnavailable(rig.link), isStoreFull(rig.link)];
    });
    expect(states).toEqual([[true, true], [true, false], [true, true], [false, false]]);
    rig.frame(store(false, 7, true));
    rig.closed(1006);
    expect(isStoreFull(rig.link)).toBe(false);
  });

  it("ignores an invalid status", () => {
    const rig = new LinkDriver().live();
    rig.frame(event("store_status", undefined, { available: "no", since: 7 }));
    expect([rig.link.phase, isStoreUnavailable(rig.link)]).toEqual(["live", false]);
  });
});

describe("trying again", () => {
  it("waits up to 500 ms, doubled each time, at most 5 s at first and 30 s later", () => {
    const rig = new LinkDriver();
    rig.env.random = 1;
    rig.do({ type: "start" });
    const waits = Array.from({ length: 26 }, () => {
      rig.closed(1006);
      const wait = rig.link.retryAt - rig.env.now;
      rig.timer();
      return wait;
    });
    expect(waits).toEqual([500, 1000, 2000, 4000, ...Array(20).fill(5000), 30_000, 30_000]);
    rig.env.random = 0;
    rig.closed(1006);
    expect(rig.link.retryAt).toBe(rig.env.now);
  });

  it("resets the delay after new events or a link that lasted", () => {
    const rig = new LinkDriver().live();
    for (let i = 0; i < 4; i++) {
      rig.closed(1006);
      rig.timer();
      rig.do({ type: "opened", conn: rig.link.conn });
      rig.frame(snapshot("1-5"));
    }
    expect(rig.link.failed).toBe(4);
    rig.env.now += 10_000;
    rig.closed(1006);
    expect(rig.link.failed).toBe(1);
  });

  it("is at once when the page becomes visible or online, but not before the hub allows it", () => {
    const rig = new LinkDriver().live();
    rig.closed(1006);
    expect(types(rig.do({ type: "awake" }))).toEqual(["open"]);
    rig.closed(4429, "rate limited, retry_after=7");
    expect(rig.do({ type: "awake" })).toEqual([]);
    expect(rig.link.retryAt).toBeGreaterThanOrEqual(rig.env.now + 7000);
    rig.env.now += 7000;
    expect(types(rig.do({ type: "awake" }))).toEqual(["open"]);
  });

  it("follows the table of close codes", () => {
    for (const [text, info] of Object.entries(closeCodes)) {
      const rig = new LinkDriver().live();
      rig.env.canRefresh = false;
      rig.closed(Number(text));
      const stops = info.reconnect === "never" || info.reconnect === "user";
      expect([text, rig.link.phase]).toEqual([text, stops ? "stopped" : "waiting"]);
      if (info.reconnect === "now") expect(rig.link.retryAt).toBe(rig.env.now);
      expect(types(rig.do({ type: "awake" }))).toEqual(stops ? [] : ["open"]);
    }
    expect(reconnectAfter(1006)).toBe("backoff");
    expect(reconnectAfter(4999)).toBe("backoff");
  });

  it("names the connection of a frame that was too large", () => {
    const rig = new LinkDriver().live();
    expect(rig.closed(1009)).toEqual([{ type: "culprit", conn: 1, code: 1009 }]);
  });

  it("reconnects when a draining hub requests it", () => {
    const rig = new LinkDriver().live();
    rig.frame(event("reconnect", undefined, { after_ms: 1234 }));
    rig.closed(4503);
    expect(rig.link.retryAt).toBe(rig.env.now + 1234);
  });

  it("stops when requested, and continues when the user retries", () => {
    const rig = new LinkDriver().live();
    expect(rig.do({ type: "stop" })).toEqual([{ type: "close", conn: 1, code: 1000 }]);
    expect(rig.do({ type: "awake" })).toEqual([]);
    expect(types(rig.do({ type: "retry" }))).toEqual(["open"]);
  });
});

describe("credentials", () => {
  it("are refreshed once on 4401", () => {
    const rig = new LinkDriver().live();
    expect(types(rig.closed(4401))).toEqual(["refresh"]);
    expect(types(rig.do({ type: "token" }))).toEqual(["open"]);
    expect(types(rig.closed(4401))).toEqual([]);
    expect(rig.link).toMatchObject({ phase: "stopped", code: 4401 });
  });

  it("may be refreshed again after a successful connection", () => {
    const rig = new LinkDriver().live();
    rig.closed(4401);
    rig.do({ type: "token" });
    rig.live();
    expect(types(rig.closed(4401))).toEqual(["refresh"]);
  });

  it("stop the client when there are none", () => {
    const rig = new LinkDriver().live();
    rig.closed(4401);
    rig.do({ type: "noToken" });
    expect(rig.link.phase).toBe("stopped");
  });

  it("are refreshed before the old ones expire", () => {
    const rig = new LinkDriver().live();
    const ask = event("auth_refresh_required", undefined, { expires_at: 1, grace_ms: 1000 });
    expect(types(rig.frame(ask))).toEqual(["refresh", "event"]);
    expect(rig.do({ type: "token" })).toEqual([{ type: "auth", conn: 1 }]);
  });

  it("are probed after a failed handshake, since browsers give no reason", () => {
    const rig = new LinkDriver();
    rig.do({ type: "start" });
    expect(rig.closed(1006)).toEqual([{ type: "probe", conn: 1 }]);
    expect(rig.do({ type: "probed", conn: 1, status: 200 })).toEqual([]);
    expect(rig.link.phase).toBe("waiting");
    expect(types(rig.do({ type: "probed", conn: 1, status: 401 }))).toEqual(["refresh"]);
    rig.do({ type: "token" });
    rig.closed(1006);
    rig.do({ type: "probed", conn: 2, status: 404 });
    expect(rig.link).toMatchObject({ phase: "stopped", code: 4404 });
  });
});
