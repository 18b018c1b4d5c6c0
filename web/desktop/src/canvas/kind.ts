// The kind of a window: its icon and its colour, so that windows can be distinguished without reading their titles.

import { AppWindow, Blocks, ChartColumn, FileText, Globe, LayoutTemplate, type LucideIcon, NotebookText, Shapes, Table2, Text } from "lucide-react";
import type { WindowState } from "../../../core/src/index.js";
import { appOf } from "../content/addresses.js";

/** How many colours there are; the style sheet has a class for each. */
export const hues = 12;

export interface Kind {
  readonly icon: LucideIcon;
  /** From 1 to `hues`. */
  readonly hue: number;
  /** The app that the window shows, which may have a picture of its own. */
  readonly app?: string;
}

const kinds: Record<string, Kind> = {
  markdown: { icon: FileText, hue: 1 },
  text: { icon: Text, hue: 8 },
  table: { icon: Table2, hue: 2 },
  html: { icon: Shapes, hue: 3 },
  iframe: { icon: Globe, hue: 8 },
  component: { icon: LayoutTemplate, hue: 4 },
  notebook: { icon: NotebookText, hue: 7 },
  chart: { icon: ChartColumn, hue: 5 },
  "mcp-app": { icon: Blocks, hue: 6 },
};

/** The kind of a window. Apps have a colour each. */
export function kindOf({ content }: Pick<WindowState, "content">): Kind {
  if (content.renderer === "iframe") {
    const app = appOf(typeof content.data === "string" ? content.data : content.data.url);
    if (app !== undefined) return { icon: AppWindow, hue: hueOf(app), app };
  }
  return kinds[content.renderer] ?? { icon: AppWindow, hue: 6 };
}

/** The colour of an app, always the same for the same name. The factor gives every app of the market another colour. */
export function hueOf(name: string): number {
  let sum = 0;
  for (const c of name) sum = (sum * 863 + c.codePointAt(0)!) % 9973;
  return 1 + (sum % hues);
}
