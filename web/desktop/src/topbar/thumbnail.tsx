import { type ReactNode, useMemo } from "react";
import type { MonitorID } from "../../../core/src/index.js";
import { useWindows } from "../shell/select.js";

/** A monitor in small: where its windows are. */
export function Thumbnail({ monitor }: { monitor: MonitorID }): ReactNode {
  const windows = useWindows(monitor);
  const shown = useMemo(() => windows.filter((w) => w.minimized !== true), [windows]);
  return (
    <svg viewBox="0 0 1440 810" width="100%" aria-hidden>
      {shown.map((w) => (
        <rect key={w.windowId} x={w.bounds.x} y={w.bounds.y} width={w.bounds.w} height={w.bounds.h} rx="16" fill="var(--surface-3)" stroke="var(--line-strong)" strokeWidth="8" />
      ))}
    </svg>
  );
}
