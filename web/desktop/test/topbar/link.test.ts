import { describe, expect, test } from "vitest";
import { type Link, newLink } from "../../../core/src/link.js";
import { caughtUp, chipOf, isSessionClosed, stopCause, storeBack } from "../../src/topbar/link.js";

const stats = { connections: 1, snapshots: 1, events: 0, duplicates: 0, unreadable: 0 };
const link = (part: Partial<Link>): Link => ({ ...newLink(), stats, ...part });
const now = 100_000;

describe("the link chip", () => {
  test("is quiet while the connection lives", () => {
    expect(chipOf(link({ phase: "live" }), true, now)).toEqual({ state: "live", quiet: true, retryIn: 0 });
  });

  test("trusts a live connection more than the browser's network state", () => {
    expect(chipOf(link({ phase: "live" }), false, now).state).toBe("live");
  });

  test("distinguishes an unavailable store from a lost connection", () => {
    const away = link({ phase: "live", store: { available: false, since: 1 } });
    for (const online of [true, false]) expect(chipOf(away, online, now)).toEqual({ state: "storeless", quiet: false, retryIn: 0 });
    expect(chipOf({ ...away, store: { available: true, since: 2 } }, true, now)).toEqual({ state: "live", quiet: true, retryIn: 0 });
    const lost = { ...away, phase: "waiting", downSince: now - 3_000, retryAt: now } as const;
    expect(chipOf(lost, true, now).state).toBe("reconnecting");
    expect(chipOf({ ...lost, phase: "stopped", code: 4410 }, true, now).state).toBe("stopped");
  });

  test("reports the first connection attempt at once", () => {
    const first = { ...newLink(), phase: "connecting", downSince: now } as const;
    expect(chipOf(first, true, now)).toMatchObject({ state: "connecting", quiet: false });
  });

  test.each([
    [0, "connecting", true],
    [2_999, "connecting", true],
    [3_000, "reconnecting", false],
    [60_000, "reconnecting", false],
  ])("after %i ms without a connection: %s", (away, state, quiet) => {
    expect(chipOf(link({ phase: "waiting", downSince: now - away, retryAt: now + 4_100 }), true, now)).toEqual({ state, quiet, retryIn: 5 });
  });

  test("counts down to the next attempt and never below 0", () => {
    const waiting = link({ phase: "waiting", downSince: 1, retryAt: now + 1 });
    expect(chipOf(waiting, true, now).retryIn).toBe(1);
    expect(chipOf(waiting, true, now + 500).retryIn).toBe(0);
    expect(chipOf(link({ phase: "connecting", downSince: 1, retryAt: now + 9_000 }), true, now).retryIn).toBe(0);
  });

  test("reports a missing network, but not in a short interruption", () => {
    const waiting = link({ phase: "waiting", downSince: now, retryAt: now + 4_000 });
    expect(chipOf(waiting, false, now)).toEqual({ state: "connecting", quiet: true, retryIn: 4 });
    expect(chipOf(waiting, false, now + 3_000)).toEqual({ state: "offline", quiet: false, retryIn: 1 });
    expect(chipOf({ ...newLink(), phase: "connecting", downSince: now }, false, now).state).toBe("offline");
  });

  test("reports why it stopped, with or without a network", () => {
    expect(chipOf(link({ phase: "stopped", code: 4410 }), false, now)).toEqual({ state: "stopped", quiet: false, retryIn: 0, cause: "gone" });
  });
});

test.each([
  [4400, "misused"],
  [4401, "signIn"],
  [4411, "signIn"],
  [4403, "forbidden"],
  [4404, "gone"],
  [4410, "gone"],
  [1000, "ended"],
  [0, "ended"],
])("close code %i means %s", (code, cause) => {
  expect(stopCause(code)).toBe(cause);
});

test("a deleted or forbidden session is closed, any other may come back", () => {
  expect(isSessionClosed({ phase: "stopped", code: 4410 })).toBe(true);
  expect(isSessionClosed({ phase: "stopped", code: 4403 })).toBe(true);
  expect(isSessionClosed({ phase: "stopped", code: 4401 })).toBe(false);
  expect(isSessionClosed({ phase: "waiting", code: 4410 })).toBe(false);
});

test("a store is back when the hub said so over a live connection", () => {
  const back = { available: true, since: 2 };
  expect(storeBack(link({ phase: "live", store: back }))).toBe(back);
  expect(storeBack(link({ phase: "live", store: { available: false, since: 1 } }))).toBe(undefined);
  expect(storeBack(link({ phase: "live" }))).toBe(undefined);
  expect(storeBack(link({ phase: "waiting", store: back }))).toBe(undefined);
});

test("only a resumed connection whose replay is complete has caught up", () => {
  const resumed = link({ phase: "live", resumed: true, released: true, caughtUp: 42 });
  expect(caughtUp(resumed)).toBe(42);
  expect(caughtUp({ ...resumed, released: false })).toBe(0);
  expect(caughtUp({ ...resumed, resumed: false })).toBe(0);
  expect(caughtUp({ ...resumed, phase: "waiting" })).toBe(0);
  expect(caughtUp({ ...resumed, caughtUp: 0 })).toBe(0);
});
