import { expect, it } from "vitest";
import { watchedSession } from "../../src/film/admin.js";
import { loadFilm } from "../../src/film/load.js";
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
