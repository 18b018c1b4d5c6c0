import { AppWindow, FileText, Globe, LayoutTemplate, type LucideIcon, RotateCcw, Table2, Text } from "lucide-react";
import { memo, type ReactNode } from "react";
import type { WindowState } from "../../../core/src/index.js";
import { Content } from "../content/index.js";
import { useTexts } from "../i18n/use.js";
import { canvas as texts } from "../texts/entry.js";
import { Boundary } from "../ui/boundary.js";
import { Button } from "../ui/button.js";

const icons: Record<string, LucideIcon> = {
  markdown: FileText,
  text: Text,
  table: Table2,
  html: AppWindow,
  iframe: Globe,
  component: LayoutTemplate,
};

function iconOf(w: WindowState): LucideIcon {
  return icons[w.content.renderer] ?? AppWindow;
}

/** The kind of a window as an icon. */
export function WindowIcon({ window: w, size = 14 }: { window: WindowState; size?: number }): ReactNode {
  const Icon = iconOf(w);
  return <Icon size={size} aria-hidden />;
}

/** What is in a window, filling its parent. What goes wrong in it stays in it. */
export function WindowBody({ window: w }: { window: WindowState }): ReactNode {
  const t = useTexts(texts);
  return (
    <Boundary
      resetKey={w.content}
      fallback={(error, again) => (
        <div className="win-failed" role="alert">
          <p>{t.failed}</p>
          <code>{error.message}</code>
          <Button size="sm" icon={RotateCcw} onClick={again}>
            {t.again}
          </Button>
        </div>
      )}
    >
      <Inside window={w} />
    </Boundary>
  );
}

/** Where a window lies is nothing to its content, which is not drawn again while it is dragged. */
const Inside = memo(Content, (a, b) => sameInside(a.window, b.window));

const outside = new Set<string>(["bounds", "restoreBounds", "z"]);

function sameInside(a: WindowState, b: WindowState): boolean {
  if (a === b) return true;
  const names = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<keyof WindowState>;
  return [...names].every((name) => outside.has(name) || a[name] === b[name]);
}
