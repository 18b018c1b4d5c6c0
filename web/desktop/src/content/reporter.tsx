import { type ReactNode, useContext } from "react";
import { firstMonitor } from "../../../core/src/index.js";
import { PageContext, useCommands, useEvents } from "../shell/context.js";
import { type CaptureRequest, captureEvent } from "./app-frame/capture.js";
import { type FeedbackRequest, feedbackFor } from "./feedback.js";

/** How long a window may take to render, in ms; the hub waits a little longer. */
const renderTimeout = 1700;
const pollInterval = 50;

/** Sends the hub feedback on actions that expect it. The page has one reporter for all windows. */
export function Reporter(): ReactNode {
  const page = useContext(PageContext);
  const commands = useCommands();

  const report = async (a: FeedbackRequest): Promise<void> => {
    const locked = (): boolean => (page?.client.state.desktop.windows.get(a.key)?.lock ?? "") !== "";
    const outcome = async (): Promise<{ imageData?: string; locked?: boolean }> => {
      if (a.kind === "done") return {};
      if (a.kind === "lock") return { locked: locked() };
      const root = await waitForContent(a.key, a.kind === "capture");
      return a.kind === "capture" ? { imageData: await captureContent(root, a.feedback.requestId) } : {};
    };
    await outcome().then(
      (good) => commands.send("RENDERING_FEEDBACK", { ...a.feedback, success: true, ...good }),
      (e: unknown) => commands.send("RENDERING_FEEDBACK", { ...a.feedback, success: false, error: e instanceof Error ? e.message : String(e) }),
    );
  };

  useEvents((e, replayed) => {
    if (e.type !== "ACTIONS" || replayed || page === undefined) return;
    const { desktop } = page.client.state;
    for (const action of e.data.actions) {
      const a = feedbackFor(action, e.data.monitorId ?? firstMonitor, desktop);
      if (a !== undefined) void report(a);
    }
  });
  return null;
}

/** The content element of a window, once it has rendered; with `anything`, also when rendering failed. */
async function waitForContent(key: string, anything: boolean): Promise<HTMLElement> {
  let root: HTMLElement | null = null;
  for (let waited = 0; waited < renderTimeout; waited += pollInterval) {
    await new Promise((resume) => setTimeout(resume, pollInterval));
    root = document.querySelector(`[data-content="${CSS.escape(key)}"]:not(.film *)`);
    const state = root?.querySelector("[data-content-state]");
    switch (root === null ? "loading" : (state?.getAttribute("data-content-state") ?? "ready")) {
      case "ready":
        return root!;
      case "failed":
        if (anything) return root!;
        throw new Error(state?.getAttribute("data-content-error") ?? "it cannot be shown");
    }
  }
  throw new Error(root === null ? "this tab does not show the window" : "the page is not there yet");
}

async function captureContent(root: HTMLElement, requestId: string): Promise<string> {
  const page = root.querySelector("[data-content-state]");
  if (page?.querySelector("iframe") != null) {
    return new Promise((resolve, reject) => {
      const answer = (made: Promise<string>): void => void made.then(resolve, reject);
      page.dispatchEvent(new CustomEvent<CaptureRequest>(captureEvent, { detail: { requestId, answer } }));
    });
  }
  const { renderPicture, staticCopy } = await import("../../../apps/picture.js");
  const box = root.getBoundingClientRect();
  const body = document.createElement("body");
  const style = document.createElement("style");
  style.textContent = [...document.styleSheets].flatMap((s) => [...s.cssRules].map((r) => r.cssText)).join("\n");
  body.append(style, staticCopy(root, false));
  const { theme = "" } = document.documentElement.dataset;
  return renderPicture(body, Math.round(box.width), Math.round(box.height), { "data-theme": theme, lang: document.documentElement.lang });
}
