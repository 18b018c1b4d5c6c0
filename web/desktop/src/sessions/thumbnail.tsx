import { type ReactNode, useMemo } from "react";
import { firstMonitor } from "../../../core/src/index.js";
import { kindOf } from "../canvas/kind.js";
import { extentOf, miniature } from "../canvas/miniature.js";
import type { Preview } from "./previews.js";

/** A miniature of the first monitor of a session, drawn from the places of its windows. */
export function SessionThumbnail({ preview }: { preview: Preview | undefined }): ReactNode {
  const shown = useMemo(() => (preview ?? []).filter((w) => w.monitorId === firstMonitor && w.minimized !== true), [preview]);
  const extent = useMemo(() => extentOf(shown), [shown]);
  return (
    <span className="sessions-thumb wall-aurora" aria-hidden data-windows={preview?.length}>
      {shown.map((w) => {
        const { x, y, w: width, h } = miniature(w, extent);
        return (
          <span key={w.windowId} className={`sessions-thumb-window kind-${kindOf(w).hue}`} style={{ left: `${x}%`, top: `${y}%`, width: `${width}%`, height: `${h}%`, zIndex: w.z ?? 0 }} />
        );
      })}
    </span>
  );
}
