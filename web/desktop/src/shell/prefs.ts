// The preferences of this browser. They are stored in localStorage; other tabs receive changes through its storage event.

import type { Storage } from "../../../core/src/index.js";
import type { Language } from "../i18n/texts.js";
import { type Accent, accentOf, accents, type Wallpaper, wallpaperOf, wallpapers } from "./account.js";

export type Theme = "system" | "dark" | "light" | "contrast";

export interface Prefs {
  readonly theme: Theme;
  readonly language: Language | "system";
  /** Whether to show browser notifications for finished and failed work and for questions. */
  readonly notify: boolean;
  /** Whether other people in the session see the pointer of this browser. */
  readonly pointer: boolean;
  /** Whether the tour was closed. */
  readonly toured: boolean;
  /** The looks that the user chose last, which the page has until it has read the user's settings. */
  readonly wallpaper: Wallpaper;
  readonly accent: Accent;
}

export const prefsKey = "everdesk.prefs";

const defaults: Prefs = { theme: "system", language: "system", notify: false, pointer: true, toured: false, wallpaper: wallpapers[0], accent: accents[0] };

export function readPrefs(text: string | null): Prefs {
  try {
    const v = (JSON.parse(text ?? "{}") ?? {}) as Record<string, unknown>;
    return {
      theme: v.theme === "dark" || v.theme === "light" || v.theme === "contrast" ? v.theme : defaults.theme,
      language: v.language === "en" || v.language === "ko" ? v.language : defaults.language,
      notify: v.notify === true,
      pointer: v.pointer !== false,
      toured: v.toured === true,
      wallpaper: wallpaperOf(v.wallpaper),
      accent: accentOf(v.accent),
    };
  } catch {
    return defaults;
  }
}

export function keepPrefs(prefs: Prefs, storage: Storage): void {
  try {
    storage.setItem(prefsKey, JSON.stringify(prefs));
  } catch {
    // The storage is full or forbidden: the change is lost with the page.
  }
}
