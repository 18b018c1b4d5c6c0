// The id of a tab, which survives page loads.

import type { Storage } from "../../../core/src/index.js";

const key = "everdesk.tab";

/** How long a reloaded page waits for the previous page to release the name's lock, in ms. */
const lockTimeout = 1_500;

export interface TabOptions {
  storage: Storage;
  /** Absent on insecure pages. */
  locks: Pick<LockManager, "request"> | undefined;
  random: () => string;
}

/** Returns the name of this tab. A duplicated tab has a copy of the original's storage including its name, so it gets a new one. */
export async function nameTab({ storage, locks, random }: TabOptions): Promise<string> {
  const kept = storage.getItem(key);
  if (kept !== null && (await acquireName(locks, kept))) return kept;
  const name = `tab-${random()}`;
  storage.setItem(key, name);
  await acquireName(locks, name);
  return name;
}

/** Locks a name for the lifetime of the page; false if another page holds it. */
function acquireName(locks: TabOptions["locks"], name: string): Promise<boolean> {
  if (locks === undefined) return Promise.resolve(true);
  return new Promise((resolve) => {
    const held = (): Promise<never> => {
      resolve(true);
      return new Promise(() => undefined);
    };
    locks.request(`${key}.${name}`, { signal: AbortSignal.timeout(lockTimeout) }, held).catch(() => resolve(false));
  });
}

/** The stored name of this tab. */
export function tabName(storage: Storage): string {
  return storage.getItem(key) ?? "";
}
