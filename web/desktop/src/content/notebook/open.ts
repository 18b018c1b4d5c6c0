// Opens new notebooks. They are windows of the desktop, so all tabs show them.

import { type Action, type MonitorID, shownMonitor, type WindowState } from "../../../../core/src/index.js";
import type { Commands } from "../../shell/commands.js";
import type { Shell } from "../../shell/shell.js";
import { notebook as texts } from "../../texts/notebook.js";

/** The first number for which no window is a notebook. */
export function freeNotebook(windows: Iterable<WindowState>): number {
  const taken = new Set([...windows].map((w) => w.windowId));
  let n = 1;
  while (taken.has(`notebook-${String(n)}`)) n++;
  return n;
}

/** The action that opens a notebook with an empty cell beside the windows of a monitor. */
export function newNotebook(monitor: MonitorID, windows: Iterable<WindowState>, titleOf: (n: number) => string): Action {
  const all = [...windows];
  const n = freeNotebook(all);
  const shift = (all.filter((w) => w.monitorId === monitor).length % 8) * 32;
  return {
    type: "window.create",
    windowId: `notebook-${String(n)}`,
    title: titleOf(n),
    bounds: { x: 96 + shift, y: 56 + shift, w: 760, h: 560 },
    content: { renderer: "notebook", data: { cells: [{ id: "cell-1", kind: "code", source: "" }] } },
  };
}

/** Opens a new notebook on the monitor that is shown, or says why notebooks cannot run code. */
export function openNotebook(commands: Commands, s: Shell): void {
  if (s.hub.notebooksOff !== undefined) return commands.notify(texts[s.language].off(s.hub.notebooksOff), "warning");
  const monitorId = shownMonitor(s.view, s.desktop);
  commands.send("EMIT", { actions: [newNotebook(monitorId, s.desktop.windows.values(), texts[s.language].title)], monitorId });
  commands.showPhonePage("windows");
}
