import { expect, test } from "vitest";
import { clearUserData, recordVisit, safeStorage } from "../../src/shell/storage.js";
import { nameTab, tabName } from "../../src/shell/tab.js";

/** The used part of a browser's storage. */
class FakeStorage implements Storage {
  [name: string]: unknown;
  readonly all = new Map<string, string>();
  full = false;

  get length(): number {
    return this.all.size;
  }

  key(i: number): string | null {
    return [...this.all.keys()][i] ?? null;
  }

  getItem(key: string): string | null {
    return this.all.get(key) ?? null;
  }

  setItem(key: string, value: string): void {
    if (this.full) throw new Error("QuotaExceededError");
    this.all.set(key, value);
  }

  removeItem(key: string): void {
    this.all.delete(key);
  }

  clear(): void {
    this.all.clear();
  }
}

test("a forbidden storage lasts as long as the page", async () => {
  const storage = safeStorage(() => {
    throw new Error("SecurityError");
  });
  expect(storage.getItem("everdesk.a")).toBeNull();
  storage.setItem("everdesk.a", "b");
  expect([storage.getItem("everdesk.a"), storage.keys()]).toEqual(["b", ["everdesk.a"]]);
  storage.removeItem("everdesk.a");
  expect([storage.getItem("everdesk.a"), storage.keys()]).toEqual([null, []]);
  expect(await nameTab({ storage, locks: undefined, random: () => "7" })).toBe("tab-7");
  expect(tabName(storage)).toBe("tab-7");
});

test("a full storage keeps its values, and the page has the newest", () => {
  const kept = new FakeStorage();
  const storage = safeStorage(() => kept);
  storage.setItem("everdesk.a", "1");
  kept.full = true;
  storage.setItem("everdesk.a", "2");
  expect([storage.getItem("everdesk.a"), kept.getItem("everdesk.a")]).toEqual(["2", "1"]);
  kept.full = false;
  storage.setItem("everdesk.a", "3");
  expect([storage.getItem("everdesk.a"), kept.getItem("everdesk.a")]).toEqual(["3", "3"]);
});

test("fifty sessions are remembered, the most recently used ones", () => {
  const kept = new FakeStorage();
  const storage = safeStorage(() => kept);
  const keep = (session: string): void => {
    recordVisit(storage, session);
    for (const what of ["seen", "read", "view", "tour"]) storage.setItem(`everdesk.${what}.${session}`, "x");
  };
  for (let i = 0; i < 60; i++) {
    keep(`s${i}`);
    keep("mine");
  }
  const left = storage.keys().filter((k) => k.startsWith("everdesk.seen."));
  expect([left.length, storage.keys().length]).toEqual([50, 201]);
  expect([left.includes("everdesk.seen.mine"), left.includes("everdesk.seen.s59"), left.includes("everdesk.seen.s10")]).toEqual([true, true, false]);
  storage.setItem("everdesk.visited", "{");
  keep("new");
  expect(storage.getItem("everdesk.visited")).toBe('["new"]');
});

test("clearing a user's data keeps the display preferences and the data of others", () => {
  const kept = new FakeStorage();
  const storage = safeStorage(() => kept);
  for (const key of ["everdesk.drafts", "everdesk.outbox.s.t.u", "everdesk.recent", "everdesk.prefs", "everdesk.drawer", "everdesk.tab", "other"]) storage.setItem(key, "x");
  clearUserData([storage]);
  expect([...kept.all.keys()].sort()).toEqual(["everdesk.drawer", "everdesk.prefs", "everdesk.tab", "other"]);
});
