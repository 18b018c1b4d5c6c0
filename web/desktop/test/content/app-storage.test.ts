import { expect, test, vi } from "vitest";
import { runStorage } from "../../../apps/data.js";
import { maxMessage, maxStorageMessage, type StorageRequest } from "../../../apps/protocol.js";
import { createStorage } from "../../../apps/storage.js";
import type { HubEvent } from "../../../core/src/index.js";
import { parseAppMessage } from "../../src/content/app-frame/rules.js";
import { changedFiles, refreshesApps } from "../../src/content/app-frame/storage.js";
import { ApiError } from "../../src/shell/api.js";

test("requests about data have a form and a size", () => {
  const good = { type: "everdesk:storage", call: 1, op: "save", name: "a.json", text: "x".repeat(maxMessage + 1) };
  expect(parseAppMessage(JSON.stringify(good))).toEqual(good);
  for (const bad of [{ op: "drop" }, { name: 5 }, { name: "x".repeat(1025) }, { text: null }, { call: "1" }, { version: 5.5 }, { version: "../x" }, { text: "x".repeat(maxStorageMessage) }]) {
    expect(parseAppMessage(JSON.stringify({ ...good, ...bad })), JSON.stringify(bad).slice(0, 50)).toBeUndefined();
  }
});

test("data is read and written at the paths of the app, and a missing file is null", async () => {
  const asked: string[] = [];
  const appData = vi.fn(async (method: string, path: string, body?: string) => {
    asked.push(`${method} ${path} ${body ?? ""}`.trim());
    if (path.endsWith("/none?optional=true")) return { text: null, version: null };
    if (path.endsWith("/bad?optional=true")) throw new ApiError(403, 0, "not yours");
    return { text: path.endsWith("/app-data/notes") ? '{"files":["a"]}' : "text", version: "5a" };
  });
  const run = (op: StorageRequest["op"], name: string, text = "") => runStorage(appData, "/api/sessions/s%201/app-data/notes", { type: "everdesk:storage", call: 1, op, name, text });
  expect(await run("read", "a b/..c?d#e%2e")).toEqual({ value: "text", version: "5a" });
  expect(await run("read", "none")).toEqual({ value: null, version: null });
  await expect(run("read", "bad")).rejects.toThrow("not yours");
  expect(await run("list", "")).toEqual({ value: ["a"] });
  expect(await run("save", "a", "t")).toEqual({ value: null, version: "5a" });
  expect(await run("remove", "a")).toEqual({ value: null, version: null });
  for (const name of ["", ".", "..", "../../../me", "a/../../../../../logout", "a//b", "/etc", "a/."]) {
    for (const op of ["read", "save", "remove"] as const) await expect(run(op, name), name).rejects.toThrow("invalid");
  }
  const home = "/api/sessions/s%201/app-data/notes";
  expect(asked).toEqual([`GET ${home}/a%20b/..c%3Fd%23e%252e?optional=true`, `GET ${home}/none?optional=true`, `GET ${home}/bad?optional=true`, `GET ${home}`, `PUT ${home}/a t`, `DELETE ${home}/a`]);
});

test("calls of a page go one after the other, and only the newest text of a file is written", async () => {
  vi.useFakeTimers();
  try {
    const sent: StorageRequest[] = [];
    const { storage, handle } = createStorage((r) => sent.push(r));
    const first = storage.read("a");
    const saves = [storage.save("b", "1"), storage.save("b", "2"), storage.save("b", "3")];
    expect(sent).toHaveLength(1);
    handle({ type: "everdesk:storage-result", call: 1, value: null });
    expect(await first).toBeNull();
    await vi.advanceTimersByTimeAsync(100);
    expect(sent.slice(1)).toEqual([{ type: "everdesk:storage", call: 2, op: "save", name: "b", text: "3" }]);
    handle({ type: "everdesk:storage-result", call: 1, value: "late" });
    handle({ type: "everdesk:storage-result", call: 2, error: "full" });
    for (const s of saves) await expect(s).rejects.toThrow("full");
    const lost = expect(storage.list()).rejects.toThrow("in time");
    await vi.advanceTimersByTimeAsync(30_000);
    await lost;
    const changed: string[] = [];
    storage.onChange((name) => changed.push(name));
    handle({ type: "everdesk:storage-changed", name: "x" });
    expect(changed).toEqual(["x"]);
  } finally {
    vi.useRealTimers();
  }
});

test("an app that has not read the newest text cannot overwrite it, and is told of changes by others only", async () => {
  vi.useFakeTimers();
  try {
    const sent: StorageRequest[] = [];
    const { storage, handle } = createStorage((r) => sent.push(r));
    const changed: string[] = [];
    storage.onChange((name) => changed.push(name));
    const answer = async (r: object): Promise<void> => {
      await vi.advanceTimersByTimeAsync(100);
      handle({ type: "everdesk:storage-result", call: sent.at(-1)!.call, ...r });
      await vi.advanceTimersByTimeAsync(100);
    };
    const read = storage.read("a");
    await answer({ value: "one", version: "1" });
    expect(await read).toBe("one");
    const saved = storage.save("a", "two");
    await answer({ value: null, version: "2" });
    await saved;
    expect(sent.at(-1)).toMatchObject({ op: "save", version: "1" });
    // The hub reports this change, too.
    handle({ type: "everdesk:storage-changed", name: "a" });
    await answer({ value: "two", version: "2" });
    expect(changed).toEqual([]);
    handle({ type: "everdesk:storage-changed", name: "" });
    await answer({ value: "three", version: "3" });
    expect(changed).toEqual(["a"]);
    // The app has not read it.
    for (let i = 1; i <= 2; i++) {
      const refused = expect(storage.save("a", "stale")).rejects.toMatchObject({ name: "ConflictError" });
      await answer({ error: "it has changed", conflict: true });
      await refused;
      expect(sent.at(-1)).toMatchObject({ op: "save", version: "2" });
    }
    expect(changed).toEqual(["a", "a", "a"]);
    const again = storage.read("a");
    await answer({ value: "three", version: "3" });
    expect(await again).toBe("three");
    const last = storage.save("a", "four");
    await answer({ value: null, version: "4" });
    await last;
    expect(sent.at(-1)).toMatchObject({ op: "save", version: "3" });
  } finally {
    vi.useRealTimers();
  }
});

test("apps that were installed in another session are distinguished from changed data", () => {
  const changed = (...names: string[]): HubEvent => ({ type: "SETTINGS_CHANGED", data: { scope: "user", names } }) as unknown as HubEvent;
  expect(refreshesApps(changed("language", "appData/notes/"))).toBe(true);
  expect(refreshesApps(changed("appData/notes/a.json", "appData/notes/folder/b"))).toBe(false);
  expect(changedFiles(changed("appData/notes/", "appData/notes/a.json", "appData/other/b"), "notes")).toEqual(["a.json"]);
});
