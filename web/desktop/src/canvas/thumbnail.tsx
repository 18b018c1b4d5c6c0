import { type ReactNode, useMemo } from "react";
import { isStandard, type MonitorID, type WindowState } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { monitorNumber, useWindows } from "../shell/select.js";
import { windows as texts } from "../texts/windows.js";
import { WindowIcon } from "./body.js";
import type { Size } from "./geometry.js";
import { extentOf, miniature } from "./miniature.js";
import { frontOf, keyOf } from "./stack.js";

/** A miniature of a monitor, as wide as its parent. */
export function Thumbnail({ monitor }: { monitor: MonitorID }): ReactNode {
  const t = useTexts(texts);
  const windows = useWindows(monitor);
  const visible = useMemo(() => windows.filter((w) => !w.minimized), [windows]);
  const extent = useMemo(() => extentOf(visible), [visible]);
  const front = frontOf(visible, monitor);
  return (
    <div className="win-mini" role="img" aria-label={t.miniature(monitorNumber(monitor), windows.length)}>
      {visible.length === 0 && <span className="win-mini-empty">{t.emptyMiniature}</span>}
      {visible.map((w) => (
        <Miniature key={keyOf(w)} window={w} extent={extent} front={w === front} />
      ))}
    </div>
  );
}

function Miniature({ window: w, extent, front }: { window: WindowState; extent: Size; front: boolean }): ReactNode {
  const { x, y, w: width, h } = miniature(w, extent);
  const style = { left: `${x}%`, top: `${y}%`, width: `${width}%`, height: `${h}%`, zIndex: w.z ?? 0 };
  return (
    <div className="win-mini-window" data-focused={front || undefined} data-locked={(w.lock ?? "") !== "" || undefined} style={style}>
      {isStandard(w) && w.frameless !== true && (
        <span className="win-mini-title">
          <WindowIcon window={w} size={8} />
          <span>{w.title}</span>
        </span>
      )}
    </div>
  );
}
