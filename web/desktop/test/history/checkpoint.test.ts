import { describe, expect, it } from "vitest";
import type { UIRow } from "../../../core/src/index.js";
import { kindOf } from "../../src/drawer/entries.js";
import { checkpointOf, hasCheckpointAt } from "../../src/history/checkpoint.js";

const row = (ts: number, checkpoint?: unknown, text = "abc"): UIRow => ({ ts, type: "say", say: "checkpoint_saved", text, ...(checkpoint === undefined ? {} : { checkpoint }) });

describe("checkpoints in rows", () => {
  it("are read, whatever else a row has", () => {
    expect(checkpointOf(row(1, { to: "h", ts: 5, safety: "s", restored: true, other: 1 }))).toMatchObject({ to: "h", ts: 5, safety: "s", restored: true });
    for (const bad of [undefined, null, 7, "h", [], {}, { to: 7 }]) expect(checkpointOf(row(1, bad)), JSON.stringify(bad)).toBeUndefined();
    expect(checkpointOf({ ts: 1, type: "say", say: "text", text: "x", checkpoint: { to: "h" } })).toBeUndefined();
  });

  it("hold from their row on", () => {
    const rows = [row(10, { to: "a", ts: 5 }), row(20, { to: "b", safety: "s", restored: true })];
    expect([4, 5, 30].map((ts) => hasCheckpointAt(rows, ts))).toEqual([false, true, true]);
    expect(hasCheckpointAt([row(20, { to: "b", restored: true })], 30)).toBe(false);
  });

  it("are shown only where a user can do something", () => {
    expect(kindOf(row(1, { to: "a", ts: 1 }))).toBeUndefined();
    expect(kindOf(row(1, { to: "a", restored: true }))).toBe("note");
    expect(kindOf(row(1, undefined, "Checkpoints are on."))).toBe("note");
  });
});
