import { expect, it } from "vitest";
import { watchedSession } from "../../src/film/admin.js";
import { loadEarlier, loadFilm, loadWindows } from "../../src/film/load.js";
import type { Api } from "../../src/shell/api.js";

const frame = (n: number): object => ({
  type: "messageUpdated",
  session_id: "ses-1",
  message_id: `1-${n}`,
  timestamp: new Date(1000 * n).toISOString(),
  data: { action: "created", message: { id: n, ts: n, type: "say", say: "text", text: `row ${n}`, monitorId: "monitor-0" } },
});

it("a film begins later if the admin API left out events that the log has lost meanwhile", async () => {
  const starts = ["0-0", "1-2"];
  const asked: string[] = [];
  const ask = (_method: string, path: string): Promise<unknown> => {
    const url = new URL(path, "http://hub");
    if (url.pathname.endsWith("/film")) return Promise.resolve({ after: starts.shift() });
    const after = url.searchParams.get("after");
    asked.push(after ?? "");
    return Promise.resolve({ events: [frame(3), frame(4)], next: "1-4", top: "1-4", trimmed: after === null });
  };
  const film = await loadFilm({ ask } as unknown as Api, "ses-1", () => undefined, new AbortController().signal);
  expect(asked).toEqual(["", "1-2"]);
  expect(film.events.map((e) => e.at)).toEqual(["1-3", "1-4"]);
});

it("only the address of a film for admins names a session", () => {
  const of = ["/admin/film/ses-1", "/admin/film/", "/admin/film/a/b", "/admin/film/%zz", "/link", "/admin/films/x"].map(watchedSession);
  expect(of).toEqual(["ses-1", undefined, undefined, undefined, undefined, undefined]);
});

it("saved states from before the film are those that are older than its first event, the oldest first", async () => {
  const asked: string[] = [];
  const saved = [1000, 2000, 3000, 4000].map((ms) => ({ hash: `h${ms}`, savedAt: new Date(ms).toISOString(), number: ms }));
  const ask = (_method: string, path: string): Promise<unknown> => {
    asked.push(path);
    return Promise.resolve(path.endsWith("/windows") ? { windows: [{ windowId: "w" }] } : { available: true, checkpoints: saved });
  };
  const api = { ask } as unknown as Api;
  expect(await loadEarlier(api, "ses-1", 3000)).toEqual([
    { hash: "h1000", time: 1000 },
    { hash: "h2000", time: 2000 },
  ]);
  expect(await loadEarlier(api, "ses-1", 500)).toEqual([]);
  expect(await loadWindows(api, "ses-1", "h1000")).toEqual([{ windowId: "w" }]);
  expect(asked).toEqual(["/api/sessions/ses-1/checkpoints", "/api/sessions/ses-1/checkpoints", "/api/sessions/ses-1/checkpoints/h1000/windows"]);
});
