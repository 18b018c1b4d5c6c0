import { describe, expect, it, vi } from "vitest";
import type { App } from "../../src/canvas/apps.js";
import { type AppCommand, AppCommands } from "../../src/content/app-frame/app-commands.js";
import { contentOf } from "../../src/files/bytes.js";
import { openersOf } from "../../src/files/open-with.js";

const bytes = (...all: number[]): ArrayBuffer => new Uint8Array(all).buffer;

it.each([
  ["a text as it is", "a.csv", new TextEncoder().encode("a,ü").buffer as ArrayBuffer, "a,ü"],
  ["a picture as a data: URL, also if it is text", "A.PNG", bytes(65), "data:image/png;base64,QQ=="],
  ["bytes that are no text as a data: URL", "a.csv", bytes(255, 0), "data:application/octet-stream;base64,/wA="],
  ["an empty file", "a.txt", bytes(), ""],
])("an app gets %s", (_, path, data, want) => {
  expect(contentOf(path, data)).toBe(want);
});

it("apps open the extensions that they declare, in any case, with and without a dot", () => {
  const by = (...extensions: string[]) => ({ extensions, command: "open", paramKey: "content" });
  const apps: App[] = [
    { id: "csv", name: "CSV", url: "", fileAssociations: [by(".csv", ".TSV")] },
    { id: "any", name: "Any", url: "", fileAssociations: [by("zip"), by("csv")] },
    { id: "none", name: "None", url: "" },
  ];
  const ids = (path: string): string[] => openersOf(path, apps).map((o) => `${o.app.id} ${o.by.extensions[0]}`);
  expect(ids("x/Sales.CSV")).toEqual(["csv .csv", "any csv"]);
  expect(ids("a.tsv")).toEqual(["csv .csv"]);
  expect(ids("a.zip")).toEqual(["any zip"]);
  expect(ids("csv")).toEqual([]);
  expect(ids("a.csv.txt")).toEqual([]);
});

describe("commands for apps", () => {
  const command = (app: string, failed: string[] = []): AppCommand => ({ app, monitor: "monitor-0", command: "open", params: {}, onFailed: (reason) => failed.push(reason) });

  it("wait for their app on their monitor, and are taken once", () => {
    const all = new AppCommands();
    let calls = 0;
    const stop = all.watch(() => calls++);
    const one = command("csv");
    all.send(one);
    expect(calls).toBe(1);
    expect(all.take("csv", "monitor-1")).toEqual([]);
    expect(all.take("other", "monitor-0")).toEqual([]);
    expect(all.take("csv", "monitor-0")).toEqual([one]);
    expect(all.take("csv", "monitor-0")).toEqual([]);
    stop();
    all.send(command("csv"));
    expect(calls).toBe(1);
  });

  it("fail when no app takes them in time", () => {
    vi.useFakeTimers();
    const all = new AppCommands();
    const failed: string[] = [];
    all.send(command("csv", failed));
    all.send(command("taken", failed));
    all.take("taken", "monitor-0");
    vi.advanceTimersByTime(60_000);
    vi.useRealTimers();
    expect(failed).toEqual(["the app did not answer in time"]);
    expect(all.take("csv", "monitor-0")).toEqual([]);
  });
});
