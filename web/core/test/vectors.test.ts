import { describe, expect, it } from "vitest";
import { decodeEvent, type HubEvent } from "../src/event.js";
import { applyEvent } from "../src/reduce.js";
import { shapes } from "../src/shapes.gen.js";
import { hash, snapshot, snapshotText } from "../src/snapshot.js";
import { emptyDesktop } from "../src/state.js";
import { catalog } from "../src/wire.gen.js";
import { readVectors } from "./vectors.js";

const vectors = readVectors();

function decode(frame: string): HubEvent {
  const event = decodeEvent(frame);
  if (event === undefined) throw new Error(`no event: ${frame.slice(0, 200)}`);
  return event;
}

describe("the rules of the desktop are those of the hub", () => {
  it.each(vectors.map((v) => [v.name, v] as const))("%s", async (_, v) => {
    let desktop = emptyDesktop();
    for (const [i, frame] of v.frames.entries()) {
      desktop = applyEvent(desktop, decode(frame));
      const want = v.hashes[i];
      if (want !== undefined) expect(await hash(desktop), `hash after frame ${i}: ${frame.slice(0, 300)}`).toBe(want);
    }
    expect(snapshotText(snapshot(desktop))).toBe(v.snapshot);
  });

  it("covers every type of the catalog and every action", () => {
    const seen = new Set<string>();
    for (const frame of vectors.flatMap((v) => v.frames)) {
      const event = decode(frame);
      seen.add(event.type);
      if (event.type === "ACTIONS") for (const a of event.data.actions) seen.add(a.type);
    }
    const types = Object.entries(catalog).flatMap(([type, e]) => (e.direction === "server" ? [type] : []));
    const actions = shapes["Action"];
    const want = [...types, ...(actions?.kind === "union" ? Object.keys(actions.variants) : [])];
    expect(want.length).toBeGreaterThan(80);
    expect(want.filter((t) => !seen.has(t))).toEqual([]);
  });
});
