import { describe, expect, it } from "vitest";
import { decodeEvent, type HubEvent } from "../../../core/src/event.js";
import { applyEvent } from "../../../core/src/reduce.js";
import { snapshot, snapshotText } from "../../../core/src/snapshot.js";
import { emptyDesktop } from "../../../core/src/state.js";
import { readVectors } from "../../../core/test/vectors.js";
import { Film, keyframeDistance } from "../../src/film/film.js";

/** A log of n events: windows that open, change and close, and rows. */
function logOf(n: number): HubEvent[] {
  return Array.from({ length: n }, (_, i) => {
    const head = { session_id: "ses-1", message_id: `7-${i + 1}`, timestamp: new Date(1_700_000_000_000 + 1000 * i).toISOString() };
    const windowId = `w${i % 40}`;
    const action =
      i % 3 === 2
        ? { type: "window.close", windowId }
        : { type: "window.create", windowId, title: `Window ${i}`, bounds: { x: i % 500, y: 0, w: 300, h: 200 }, content: { renderer: "text", data: `text ${i}` } };
    const frame =
      i % 2 === 0
        ? { type: "ACTIONS", ...head, data: { actions: [action], monitorId: "monitor-0" } }
        : { type: "messageUpdated", ...head, data: { action: "created", message: { id: i, ts: 1_700_000_000_000 + i, type: "say", say: "text", text: `row ${i}`, monitorId: "monitor-0" } } };
    const event = decodeEvent(JSON.stringify(frame));
    if (event === undefined || event.type === "") throw new Error(`no event: ${JSON.stringify(frame)}`);
    return event;
  });
}

describe("a film", () => {
  it("draws any of 10,000 moments with fewer folded events than there are between two keyframes", () => {
    const film = new Film();
    film.append(logOf(10_000));
    let worst = 0;
    for (let i = 0; i < 500; i++) {
      const before = film.folded;
      film.stateAt((i * 7919) % 10_001);
      worst = Math.max(worst, film.folded - before);
    }
    expect(worst).toBeLessThan(keyframeDistance);
    const before = film.folded;
    for (let i = 0; i <= 10_000; i++) film.stateAt(i);
    expect(film.folded - before, "events folded while it is played").toBeLessThanOrEqual(10_000);
  });

  it("has at each moment the state that the log gives", () => {
    for (const v of readVectors()) {
      const events = v.frames.flatMap((f) => decodeEvent(f) ?? []).filter((e) => e.at !== "0-0");
      const film = new Film();
      film.append(events);
      const states = [emptyDesktop()];
      for (const e of film.events) states.push(applyEvent(states.at(-1)!, e));
      for (const at of [film.length, 0, film.length >> 1, (film.length >> 1) + 1, film.length - 1]) {
        const want = states[Math.max(0, Math.min(at, film.length))]!;
        expect(snapshotText(snapshot(film.stateAt(at))), `${v.name}, moment ${at}`).toBe(snapshotText(snapshot(want)));
      }
    }
  });

  it("continues from a snapshot, without the events before it", () => {
    const events = logOf(300);
    let half = emptyDesktop();
    for (const e of events.slice(0, 150)) half = applyEvent(half, e);
    const film = new Film(snapshot(half));
    film.append(events);
    expect(film.length).toBe(150);
    let whole = half;
    for (const e of events.slice(150)) whole = applyEvent(whole, e);
    expect(snapshotText(snapshot(film.stateAt(150)))).toBe(snapshotText(snapshot(whole)));
    expect(film.momentOf(events[149]!.at)).toBe(0);
    expect(film.momentOf(events[150]!.at)).toBe(1);
    expect(film.momentOf("9-0")).toBe(150);
  });

  it("takes each event once", () => {
    const film = new Film();
    const events = logOf(10);
    film.append(events);
    film.append(events.slice(5));
    film.append([{ ...events[0]!, at: "0-0" }]);
    expect(film.length).toBe(10);
  });
});
