// What the hub is told of actions it waits for: which of them are answered, and how. Pure.

import { type Action, type DesktopState, findWindow, type MonitorID, type RenderingFeedback } from "../../../core/src/index.js";

/** An action that somebody waits for. */
export interface Awaited {
  readonly kind: "render" | "capture" | "lock" | "done";
  readonly feedback: Pick<RenderingFeedback, "requestId" | "windowId" | "monitorId" | "renderer">;
  /** The key of the window that shows it. */
  readonly key: string;
}

/** Reads an action; undefined when nobody waits for it. */
export function awaited(a: Action, monitorId: MonitorID, desktop: DesktopState): Awaited | undefined {
  if (!("requestId" in a) || a.requestId === undefined || a.requestId === "" || !("windowId" in a)) return undefined;
  const key = findWindow(desktop, monitorId, a.windowId) ?? `${monitorId}/${a.windowId}`;
  const shown = desktop.windows.get(key)?.content.renderer ?? "text";
  const feedback = { requestId: a.requestId, windowId: a.windowId, monitorId };
  switch (a.type) {
    case "window.create":
    case "window.setContent":
    case "window.updateContent":
      return { kind: "render", key, feedback: { ...feedback, renderer: shown } };
    case "window.capture":
      return { kind: "capture", key, feedback: { ...feedback, renderer: "capture" } };
    case "window.lock":
    case "window.unlock":
      return { kind: "lock", key, feedback: { ...feedback, renderer: "lock" } };
    default:
      return { kind: "done", key, feedback: { ...feedback, renderer: shown } };
  }
}
