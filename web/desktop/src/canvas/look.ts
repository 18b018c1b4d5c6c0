// The styles of a window that its creator may set.

import type { CSSProperties } from "react";
import type { WindowState } from "../../../core/src/index.js";

const colour = /^(#[0-9a-f]{3,8}|(rgb|hsl)a?\([\d\s.,%/deg]+\)|[a-z]{3,24})$/i;

/**
 * The harmless styles of a window: none that moves it, covers other windows or loads something. A background is mixed
 * into the surface colour of the theme, also for the content, so that text stays readable in every theme.
 */
export function safeStyle(style: WindowState["windowStyle"]): CSSProperties {
  const safe: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(style ?? {})) {
    const key = name.replace(/-([a-z])/g, (_, c: string) => c.toUpperCase());
    const n = Number(typeof value === "string" ? value.replace(/px$/, "") : value);
    const text = String(value).trim();
    switch (key) {
      case "opacity":
        if (Number.isFinite(n)) safe.opacity = Math.min(1, Math.max(0.4, n));
        break;
      case "borderRadius":
        if (Number.isFinite(n)) safe.borderRadius = Math.min(24, Math.max(0, n));
        break;
      case "borderColor":
        if (colour.test(text)) safe.borderColor = text;
        break;
      case "background":
      case "backgroundColor":
        if (text === "transparent") safe["--surface"] = text;
        else if (colour.test(text)) safe["--surface"] = `color-mix(in oklab, ${text} 20%, var(--win-surface))`;
        break;
    }
  }
  return safe;
}
