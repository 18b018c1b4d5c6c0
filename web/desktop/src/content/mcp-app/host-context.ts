// The facts about the desktop that a view receives: theme, size, language.

import type { McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";

/** The names that MCP Apps gives to colours, fonts and sizes, and our tokens for them. */
const tokens: Record<string, string> = {
  "--color-background-primary": "--surface",
  "--color-background-secondary": "--surface-2",
  "--color-background-tertiary": "--surface-3",
  "--color-background-inverse": "--ink",
  "--color-background-ghost": "--surface",
  "--color-background-info": "--info-soft",
  "--color-background-danger": "--danger-soft",
  "--color-background-success": "--success-soft",
  "--color-background-warning": "--warning-soft",
  "--color-background-disabled": "--surface-2",
  "--color-text-primary": "--ink",
  "--color-text-secondary": "--ink-2",
  "--color-text-tertiary": "--ink-3",
  "--color-text-inverse": "--surface",
  "--color-text-ghost": "--ink-3",
  "--color-text-info": "--info",
  "--color-text-danger": "--danger",
  "--color-text-success": "--success",
  "--color-text-warning": "--warning",
  "--color-text-disabled": "--ink-3",
  "--color-border-primary": "--line-strong",
  "--color-border-secondary": "--line",
  "--color-border-tertiary": "--line",
  "--color-border-inverse": "--ink",
  "--color-border-ghost": "--surface",
  "--color-border-info": "--info",
  "--color-border-danger": "--danger",
  "--color-border-success": "--success",
  "--color-border-warning": "--warning",
  "--color-border-disabled": "--line",
  "--color-ring-primary": "--focus",
  "--color-ring-secondary": "--line-strong",
  "--color-ring-inverse": "--surface",
  "--color-ring-info": "--info",
  "--color-ring-danger": "--danger",
  "--color-ring-success": "--success",
  "--color-ring-warning": "--warning",
  "--font-sans": "--font",
  "--font-mono": "--mono",
  "--font-text-xs-size": "--text-xs",
  "--font-text-sm-size": "--text-sm",
  "--font-text-md-size": "--text-md",
  "--font-text-lg-size": "--text-lg",
  "--border-radius-sm": "--radius-sm",
  "--border-radius-md": "--radius",
  "--border-radius-lg": "--radius-lg",
  "--shadow-sm": "--shadow-1",
  "--shadow-md": "--shadow-2",
  "--shadow-lg": "--shadow-3",
};

/** Theme and styles of the page as they are now. */
export function pageStyles(page: Element): Pick<McpUiHostContext, "theme" | "styles"> {
  const style = getComputedStyle(page);
  const variables = Object.fromEntries(Object.entries(tokens).map(([theirs, ours]) => [theirs, style.getPropertyValue(ours).trim()]));
  return { theme: style.colorScheme === "light" ? "light" : "dark", styles: { variables: variables as never } };
}

/** The context of a window. */
export function hostContext(page: Element, size: { width: number; height: number }, maximized: boolean, locale: string): McpUiHostContext {
  return {
    ...pageStyles(page),
    displayMode: maximized ? "fullscreen" : "inline",
    availableDisplayModes: ["inline", "fullscreen"],
    containerDimensions: { width: Math.round(size.width), height: Math.round(size.height) },
    locale,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    platform: "web",
    deviceCapabilities: { touch: navigator.maxTouchPoints > 0, hover: matchMedia("(hover: hover)").matches },
  };
}
