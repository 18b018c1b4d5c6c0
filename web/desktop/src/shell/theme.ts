import { useLayoutEffect } from "react";
import { useShell } from "./context.js";
import { useMedia } from "./viewport.js";

/** Puts theme and language on the page, where the styles look for them. */
export function usePageLook(): void {
  const chosen = useShell((s) => s.prefs.theme);
  const language = useShell((s) => s.language);
  const light = useMedia("(prefers-color-scheme: light)");
  const contrast = useMedia("(prefers-contrast: more)");
  const theme = chosen !== "system" ? chosen : contrast ? "contrast" : light ? "light" : "dark";
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = theme;
    document.documentElement.lang = language;
  }, [theme, language]);
}
