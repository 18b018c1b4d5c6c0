// Decides which actions the hub expects feedback for, and of which kind.

import { type Action, type DesktopState, findWindow, type MonitorID, type RenderingFeedback } from "../../../core/src/index.js";

/** An action that the hub expects feedback for. */
export interface FeedbackRequest {
  /**
   * What the feedback reports: `render` whether the new content could be drawn, `capture` a picture of the window, `lock`
   * whether the window is locked, `done` only that the action was applied.
   */
  readonly kind: "render" | "capture" | "lock" | "done";
  readonly feedback: Pick<RenderingFeedback, "requestId" | "windowId" | "monitorId" | "renderer">;
  /** The key of the window that the action changes. */
  readonly key: string;
}

/** The feedback that an action requires; undefined if it requires none. */
export function feedbackFor(a: Action, monitorId: MonitorID, desktop: DesktopState): FeedbackRequest | undefined {
  if (!("requestId" in a) || a.requestId === undefined || a.requestId === "" || !("windowId" in a)) return undefined;
  const key = findWindow(desktop, monitorId, a.windowId) ?? `${monitorId}/${a.windowId}`;
  const renderer = desktop.windows.get(key)?.content.renderer ?? "text";
  const feedback = { requestId: a.requestId, windowId: a.windowId, monitorId };
  switch (a.type) {
    case "window.create":
    case "window.setContent":
    case "window.updateContent":
      return { kind: "render", key, feedback: { ...feedback, renderer } };
    case "window.capture":
      return { kind: "capture", key, feedback: { ...feedback, renderer: "capture" } };
    case "window.lock":
    case "window.unlock":
      return { kind: "lock", key, feedback: { ...feedback, renderer: "lock" } };
    default:
      return { kind: "done", key, feedback: { ...feedback, renderer } };
  }
}
