// What the browser keeps. Somebody may forbid it or fill it up: then nothing is kept, and the page works all the same.

import type { Storage } from "../../../core/src/index.js";

/** A storage that throws nothing. The browser may refuse it even to those who only look at it. */
export function safe(storage: () => Storage): Storage {
  const attempt = <T>(act: (s: Storage) => T, otherwise: T): T => {
    try {
      return act(storage());
    } catch {
      return otherwise;
    }
  };
  return {
    getItem: (key) => attempt((s) => s.getItem(key), null),
    setItem: (key, value) => attempt((s) => s.setItem(key, value), undefined),
    removeItem: (key) => attempt((s) => s.removeItem(key), undefined),
  };
}

/** For this browser. */
export const forBrowser: Storage = safe(() => localStorage);

/** For this tab. */
export const forTab: Storage = safe(() => sessionStorage);
