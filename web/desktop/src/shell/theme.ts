import { useLayoutEffect } from "react";
import type { Language } from "../i18n/texts.js";
import { useShell } from "./context.js";
import type { Prefs, Theme } from "./prefs.js";
import { useMedia } from "./viewport.js";

const wantsLight = "(prefers-color-scheme: light)";
const wantsContrast = "(prefers-contrast: more)";

/** Sets theme, accent and language on the document element, where the styles select by them. */
export function usePageTheme(): void {
  const chosen = useShell((s) => s.prefs.theme);
  const language = useShell((s) => s.language);
  const theme = themeOf(chosen, useMedia(wantsLight), useMedia(wantsContrast));
  const accent = useShell((s) => s.prefs.accent);
  useLayoutEffect(() => applyTheme(theme, language, accent), [theme, language, accent]);
}

/** Does the same before the page has started. */
export function applyInitialTheme({ theme, accent }: Pick<Prefs, "theme" | "accent">, language: Language): void {
  applyTheme(themeOf(theme, matchMedia(wantsLight).matches, matchMedia(wantsContrast).matches), language, accent);
}

function themeOf(chosen: Theme, light: boolean, contrast: boolean): string {
  if (chosen !== "system") return chosen;
  if (contrast) return "contrast";
  return light ? "light" : "dark";
}

function applyTheme(theme: string, language: Language, accent: string): void {
  document.documentElement.dataset.theme = theme;
  document.documentElement.dataset.accent = accent;
  document.documentElement.lang = language;
}
