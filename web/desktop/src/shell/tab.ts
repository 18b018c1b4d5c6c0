// The name of a tab, over all its pages.

import type { Storage } from "../../../core/src/index.js";

const key = "everdesk.tab";

/** How long a page that is loaded again waits for the one before it to let the name go, in ms. */
const lockTimeout = 1_500;

export interface TabOptions {
  storage: Storage;
  /** Absent where the page is not secure. */
  locks: Pick<LockManager, "request"> | undefined;
  random: () => string;
}

/** Names this tab. A tab that was duplicated has everything of the other, also its name: it gets one of its own. */
export async function nameTab({ storage, locks, random }: TabOptions): Promise<string> {
  const kept = storage.getItem(key);
  if (kept !== null && (await acquireName(locks, kept))) return kept;
  const name = `tab-${random()}`;
  storage.setItem(key, name);
  await acquireName(locks, name);
  return name;
}

/** Takes a name for as long as the page lives; false when another page has it. */
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

/** The name that this tab has. */
export function tabName(storage: Storage): string {
  return storage.getItem(key) ?? "";
}
