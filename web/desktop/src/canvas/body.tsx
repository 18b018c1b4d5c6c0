import { RotateCcw } from "lucide-react";
import { lazy, memo, type ReactNode, Suspense } from "react";
import type { WindowState } from "../../../core/src/index.js";
import { Content } from "../content/index.js";
import { useTexts } from "../i18n/use.js";
import { canvas as texts } from "../texts/entry.js";
import { Boundary } from "../ui/boundary.js";
import { Button } from "../ui/button.js";
import { kindOf } from "./kind.js";

const InstalledPicture = lazy(async () => ({ default: (await import("../launcher/app-picture.js")).InstalledPicture }));

/** The picture of a window's app, or the icon for its kind on a tile of its colour. */
export function WindowIcon({ window: w, size = 14 }: { window: WindowState; size?: number }): ReactNode {
  const { icon: Icon, hue, app } = kindOf(w);
  const icon = <Icon size={size} />;
  return (
    <span className={`kind kind-${hue}`} style={{ width: size + 8, height: size + 8 }} aria-hidden>
      {app === undefined ? icon : <Suspense fallback={icon}><InstalledPicture id={app} fallback={icon} /></Suspense>}
    </span>
  );
}

/** The content of a window, filling its parent. An error while rendering it shows a fallback in this window only. */
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
      <MemoContent window={w} />
    </Boundary>
  );
}

/** The content does not depend on the position of its window, so it is not rendered again during a drag. */
const MemoContent = memo(Content, (a, b) => sameContent(a.window, b.window));

const placementFields = new Set<string>(["bounds", "restoreBounds", "z"]);

function sameContent(a: WindowState, b: WindowState): boolean {
  if (a === b) return true;
  const names = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<keyof WindowState>;
  return [...names].every((name) => placementFields.has(name) || a[name] === b[name]);
}
