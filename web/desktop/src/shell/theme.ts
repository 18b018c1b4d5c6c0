import { useLayoutEffect } from "react";
import type { Language } from "../i18n/texts.js";
import { useShell } from "./context.js";
import type { Theme } from "./prefs.js";
import { useMedia } from "./viewport.js";

const wantsLight = "(prefers-color-scheme: light)";
const wantsContrast = "(prefers-contrast: more)";

/** Sets theme and language on the document element, where the styles select by them. */
export function usePageTheme(): void {
  const chosen = useShell((s) => s.prefs.theme);
  const language = useShell((s) => s.language);
  const theme = themeOf(chosen, useMedia(wantsLight), useMedia(wantsContrast));
  useLayoutEffect(() => applyTheme(theme, language), [theme, language]);
}

/** Does the same before the page has started. */
export function applyInitialTheme(chosen: Theme, language: Language): void {
  applyTheme(themeOf(chosen, matchMedia(wantsLight).matches, matchMedia(wantsContrast).matches), language);
}

function themeOf(chosen: Theme, light: boolean, contrast: boolean): string {
  if (chosen !== "system") return chosen;
  if (contrast) return "contrast";
  return light ? "light" : "dark";
}

function applyTheme(theme: string, language: Language): void {
  document.documentElement.dataset.theme = theme;
  document.documentElement.lang = language;
}
