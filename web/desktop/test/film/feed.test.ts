import { describe, expect, it, vi } from "vitest";
import type { HubEvent } from "../../../core/src/index.js";
import { FilmFeed, maxWaiting } from "../../src/film/feed.js";
import type { Film } from "../../src/film/film.js";
import type { Api } from "../../src/shell/api.js";

const session = "ses-1";
const frame = (n: number): object => ({
  type: "messageUpdated",
  session_id: session,
  message_id: `1-${n}`,
  timestamp: new Date(1000 * n).toISOString(),
  data: { action: "created", message: { id: n, ts: n, type: "say", say: "text", text: `row ${n}`, monitorId: "monitor-0" } },
});
const live = (n: number): HubEvent => ({ type: "messageUpdated", session, at: `1-${n}`, time: 1000 * n, data: (frame(n) as { data: object }).data }) as HubEvent;
const snapshot = { type: "session_state", session, at: "0-0", time: 0, data: { mode: "snapshot" } } as unknown as HubEvent;
const numbers = (film: Film): number[] => film.events.map((e) => Number(e.at.slice(2)));

/** A hub whose log has `length` events and answers in pages of two. `onPage` runs while a page is on its way. */
function hub(length: number, onPage: () => unknown = () => undefined) {
  const log = { length, oldest: 1, down: false };
  const ask = async (_method: string, path: string): Promise<unknown> => {
    if (path.endsWith("/film")) return { after: "0-0" };
    const after = Number((new URL(path, "http://hub").searchParams.get("after") ?? "1-0").slice(2));
    const top = log.length;
    const events = Array.from({ length: Math.min(2, top - after) }, (_, i) => frame(after + 1 + i));
    await onPage();
    if (log.down) throw new Error("the hub does not answer");
    if (after + 1 < log.oldest) throw Object.assign(new Error("trimmed"), { status: 410 });
    return { events, next: `1-${after + events.length}`, top: `1-${top}` };
  };
  return { log, api: { ask } as unknown as Api };
}

const feedOf = (api: Api, onGrow: () => void = () => undefined, signal = new AbortController().signal): FilmFeed => new FilmFeed(api, session, onGrow, signal);
const load = (feed: FilmFeed): Promise<Film> => feed.load(() => undefined);

describe("the film and the events that arrive", () => {
  it("have no gap and no repeat while the log is read", async () => {
    let next = 5;
    const { log, api } = hub(5, () => {
      // An event of the log that arrives late, then a new one.
      if (next >= 9) return;
      feed.hear(live(next));
      log.length = ++next;
      feed.hear(live(next));
    });
    const feed = feedOf(api);
    const film = await load(feed);
    feed.hear(live(10));
    feed.hear(live(10));
    expect(numbers(film)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it("are read from the log after a snapshot, also if it comes while the film loads", async () => {
    let pages = 0;
    const { log, api } = hub(3, () => {
      if (++pages !== 2) return;
      log.length = 6; // 4 to 6 never arrive
      feed.hear(snapshot);
    });
    const feed = feedOf(api);
    const film = await load(feed);
    feed.hear(live(7));
    expect(numbers(film)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it("continue after a snapshot of a film that is shown", async () => {
    const { log, api } = hub(3);
    const grown = vi.fn();
    const feed = feedOf(api, grown);
    const film = await load(feed);
    log.length = 6;
    feed.hear(snapshot);
    feed.hear(live(7));
    await vi.waitFor(() => expect(grown).toHaveBeenCalled());
    feed.hear(live(8));
    expect(numbers(film)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it("are joined later if the hub did not answer", async () => {
    const { log, api } = hub(3);
    const grown = vi.fn();
    const feed = feedOf(api, grown);
    const film = await load(feed);
    log.length = 5;
    log.down = true;
    feed.hear(snapshot);
    await vi.waitFor(() => expect(grown).toHaveBeenCalledTimes(1));
    expect(numbers(film)).toEqual([1, 2, 3]);
    log.down = false;
    log.length = 6;
    feed.hear(live(6));
    await vi.waitFor(() => expect(grown).toHaveBeenCalledTimes(2));
    expect(numbers(film)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("end where the log has lost events that never arrived", async () => {
    const { log, api } = hub(3);
    const grown = vi.fn();
    const feed = feedOf(api, grown);
    const film = await load(feed);
    Object.assign(log, { length: 90, oldest: 80 });
    feed.hear(snapshot);
    await vi.waitFor(() => expect(grown).toHaveBeenCalled());
    feed.hear(live(91));
    expect(numbers(film)).toEqual([1, 2, 3]);
  });

  it("use a bounded memory while the log is read", async () => {
    const { log, api } = hub(3, () => {
      if (log.length > 3) return;
      log.length = 3 + maxWaiting + 10;
      for (let n = 4; n <= log.length; n++) feed.hear(live(n));
    });
    const feed = feedOf(api);
    const film = await load(feed);
    expect(film.length).toBe(3 + maxWaiting + 10);
    expect(new Set(numbers(film)).size).toBe(film.length);
  });
});
