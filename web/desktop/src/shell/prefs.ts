// What a person chose for this browser. It is kept in localStorage and told to the other tabs by its storage event.

import type { Storage } from "../../../core/src/index.js";
import type { Language } from "../i18n/texts.js";

export type Theme = "system" | "dark" | "light" | "contrast";

export interface Prefs {
  readonly theme: Theme;
  readonly language: Language | "system";
  /** Notifications of the browser, for what is finished, failed or asked. */
  readonly notify: boolean;
  /** The tour was closed. */
  readonly toured: boolean;
}

export const prefsKey = "everdesk.prefs";

const defaults: Prefs = { theme: "system", language: "system", notify: false, toured: false };

export function readPrefs(text: string | null): Prefs {
  try {
    const v = (JSON.parse(text ?? "{}") ?? {}) as Record<string, unknown>;
    return {
      theme: v.theme === "dark" || v.theme === "light" || v.theme === "contrast" ? v.theme : defaults.theme,
      language: v.language === "en" || v.language === "ko" ? v.language : defaults.language,
      notify: v.notify === true,
      toured: v.toured === true,
    };
  } catch {
    return defaults;
  }
}

export function keepPrefs(prefs: Prefs, storage: Storage): void {
  try {
    storage.setItem(prefsKey, JSON.stringify(prefs));
  } catch {
    // The storage is full or forbidden: the choice lasts as long as the page.
  }
}
