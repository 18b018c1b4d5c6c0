import { expect, test } from "vitest";
import type { Storage } from "../../../core/src/index.js";
import { nameTab, tabName } from "../../src/shell/tab.js";

function memory(entries: [string, string][] = []): Storage & { all: Map<string, string> } {
  const all = new Map(entries);
  return { all, getItem: (k) => all.get(k) ?? null, setItem: (k, v) => void all.set(k, v), removeItem: (k) => void all.delete(k) };
}

/** Web Locks: one holder, and waiting requests can be aborted. */
function browser(): Pick<LockManager, "request"> {
  const held = new Set<string>();
  return {
    request: ((name: string, { signal }: LockOptions, act: () => Promise<unknown>) => {
      if (!held.has(name)) {
        held.add(name);
        return act();
      }
      return new Promise((_, reject) => signal!.addEventListener("abort", () => reject(new Error("aborted"))));
    }) as LockManager["request"],
  };
}

let count = 0;
const random = (): string => String(++count);

test("a tab keeps its name", async () => {
  const storage = memory();
  const first = await nameTab({ storage, locks: browser(), random });
  expect(tabName(storage)).toBe(first);
  expect(await nameTab({ storage, locks: browser(), random })).toBe(first);
});

test("a duplicated tab gets its own name", async () => {
  const locks = browser();
  const storage = memory();
  const name = await nameTab({ storage, locks, random });
  const copy = memory([...storage.all]);
  const other = await nameTab({ storage: copy, locks, random });
  expect(other).not.toBe(name);
  expect(tabName(copy)).toBe(other);
});

test("without locks the stored name is used", async () => {
  const storage = memory([["everdesk.tab", "tab-x"]]);
  expect(await nameTab({ storage, locks: undefined, random })).toBe("tab-x");
});
