// Browser storage. If it is forbidden or full, values last as long as the page.

import type { Storage } from "../../../core/src/index.js";

/** What this page keeps in a browser begins like this. */
const ours = "everdesk.";

export interface SafeStorage extends Storage {
  /** Everything of ours that is kept. */
  keys(): string[];
}

/** A storage that throws nothing. In some browsers merely reading the property throws. */
export function safeStorage(storage: () => globalThis.Storage): SafeStorage {
  const refused = new Map<string, string>();
  const attempt = <T>(act: (s: globalThis.Storage) => T, otherwise: T): T => {
    try {
      return act(storage());
    } catch {
      return otherwise;
    }
  };
  const kept = (s: globalThis.Storage): string[] => Array.from({ length: s.length }, (_, i) => s.key(i) ?? "");
  return {
    getItem: (key) => refused.get(key) ?? attempt((s) => s.getItem(key), null),
    setItem: (key, value) => {
      const done = attempt((s) => (s.setItem(key, value), true), false);
      if (done) refused.delete(key);
      else refused.set(key, value);
    },
    removeItem: (key) => {
      refused.delete(key);
      attempt((s) => s.removeItem(key), undefined);
    },
    keys: () => [...new Set([...refused.keys(), ...attempt(kept, [])])].filter((key) => key.startsWith(ours)),
  };
}

/** localStorage. */
export const forBrowser: SafeStorage = safeStorage(() => localStorage);

/** sessionStorage. */
export const forTab: SafeStorage = safeStorage(() => sessionStorage);

/** The keys that hold no user data, only settings of a browser or tab. */
const keptOnSignOut = ["prefs", "drawer", "tab"];

/** Deletes all user data: drafts, unsent messages, visited sessions. */
export function clearUserData(storages: readonly SafeStorage[]): void {
  for (const storage of storages) {
    for (const key of storage.keys()) if (!keptOnSignOut.includes(key.split(".")[1]!)) storage.removeItem(key);
  }
}

const visitedKey = `${ours}visited`;

/** The number of sessions that a browser or tab stores. */
const mostVisited = 50;

/** The keys stored per session. Unsent messages are not among them; they are removed when sent. */
const perSession = ["seen", "read", "view", "tour"];

/** Records a visit of a session, and deletes the data of the least recently visited one beyond the limit. */
export function recordVisit(storage: Storage, session: string): void {
  const visited = [...readList(storage.getItem(visitedKey)).filter((id) => id !== session), session];
  for (const old of visited.slice(0, -mostVisited)) {
    for (const what of perSession) storage.removeItem(`${ours}${what}.${old}`);
  }
  storage.setItem(visitedKey, JSON.stringify(visited.slice(-mostVisited)));
}

function readList(text: string | null): string[] {
  try {
    const list: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(list) ? list.filter((v) => typeof v === "string") : [];
  } catch {
    return [];
  }
}
