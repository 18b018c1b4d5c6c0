import { useLayoutEffect } from "react";
import type { Language } from "../i18n/texts.js";
import { useShell } from "./context.js";
import type { Theme } from "./prefs.js";
import { useMedia } from "./viewport.js";

const wantsLight = "(prefers-color-scheme: light)";
const wantsContrast = "(prefers-contrast: more)";

/** Puts theme and language on the page, where the styles look for them. */
export function usePageLook(): void {
  const chosen = useShell((s) => s.prefs.theme);
  const language = useShell((s) => s.language);
  const theme = lookOf(chosen, useMedia(wantsLight), useMedia(wantsContrast));
  useLayoutEffect(() => putLook(theme, language), [theme, language]);
}

/** The same for a page that has not begun. */
export function beginLook(chosen: Theme, language: Language): void {
  putLook(lookOf(chosen, matchMedia(wantsLight).matches, matchMedia(wantsContrast).matches), language);
}

function lookOf(chosen: Theme, light: boolean, contrast: boolean): string {
  if (chosen !== "system") return chosen;
  if (contrast) return "contrast";
  return light ? "light" : "dark";
}

function putLook(theme: string, language: Language): void {
  document.documentElement.dataset.theme = theme;
  document.documentElement.lang = language;
}
