// The settings of the user that the page itself uses: the looks of the desktop, the progress of the tour and the pinned apps. The
// hub keeps them, so they are the same in every browser of the user.

import type { SettingValues } from "./api.js";

/** The wallpapers; the style sheet has a class for each. The first one is the default. */
export const wallpapers = ["aurora", "dusk", "tide", "meadow", "dots", "plain"] as const;
export type Wallpaper = (typeof wallpapers)[number];

/** The accents; the style sheet has rules for each. The first one is the default. */
export const accents = ["teal", "blue", "violet", "rose", "amber", "green"] as const;
export type Accent = (typeof accents)[number];

export interface Account {
  readonly wallpaper: Wallpaper;
  readonly accentColor: Accent;
  /** The steps of the tour that are done, and "closed". */
  readonly tourSteps: readonly string[];
  /** The ids of apps. */
  readonly pinnedApps: readonly string[];
}

/** Other programs may store other names of wallpapers and accents; the default is shown for these. */
export function wallpaperOf(name: unknown): Wallpaper {
  return wallpapers.find((w) => w === name) ?? wallpapers[0];
}

export function accentOf(name: unknown): Accent {
  return accents.find((a) => a === name) ?? accents[0];
}

export function accountOf({ settings }: SettingValues): Account {
  const value = (name: string): unknown => settings.find((s) => s.name === name)?.value;
  return {
    wallpaper: wallpaperOf(value("wallpaper")),
    accentColor: accentOf(value("accentColor")),
    tourSteps: textsOf(value("tourSteps")),
    pinnedApps: textsOf(value("pinnedApps")),
  };
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((v) => typeof v === "string") : [];
}

/** The names of the settings in an Account. */
export const accountNames: readonly string[] = ["wallpaper", "accentColor", "tourSteps", "pinnedApps"] satisfies (keyof Account)[];
