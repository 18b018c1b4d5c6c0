// Commands on all windows of the monitor: tidy up, close all, reopen, undo, new note. They load after the first paint.

import { type Action, isStandard, shownMonitor, type WindowState } from "../../../core/src/index.js";
import type { WindowsAction } from "../shell/commands.js";
import type { ShellServices } from "../shell/context.js";
import { windows as texts } from "../texts/windows.js";
import type { WindowManager } from "./manager.js";
import { overviewLayout } from "./overview-layout.js";
import { keyOf } from "./stack.js";
import { tidyLayout } from "./tidy.js";

export function runWindowsAction(action: WindowsAction, manager: WindowManager, { store, commands }: ShellServices): void {
  const { desktop, view, language } = store.getState();
  const monitor = shownMonitor(view, desktop);
  const t = texts[language];
  const here = [...desktop.windows.values()].filter((w) => w.monitorId === monitor && w.variant !== "panel");
  const announce = (text: string): void => commands.notify(text, "info", 7000, { label: t.undo, press: () => runWindowsAction("undo", manager, { store, commands } as ShellServices) });
  switch (action) {
    case "tidy": {
      const count = tidy(manager, here);
      if (count === 0) commands.notify(t.nothingToTidy);
      else announce(t.tidied(count));
      return;
    }
    case "closeAll":
      if (here.length === 0) return;
      manager.close(here);
      return announceClosed(here, manager, { store, commands } as ShellServices);
    case "undo":
      commands.dropOffers();
      if (!undo(manager, commands)) commands.notify(t.nothingToUndo);
      return;
    case "reopen": {
      const w = manager.history.popClosed(monitor);
      if (w === undefined) commands.notify(t.nothingClosed);
      else if (!reopen(commands, [w])) commands.notify(t.notReopened, "warning");
      return;
    }
    case "newNote":
      return newNote(commands, here, monitor, t.note);
    case "overview":
      commands.dropOffers(); // they would cover windows
      return manager.showOverview(manager.store.getState().overview === undefined ? overviewLayout(here, manager) : undefined);
  }
}

/** Says which windows were closed, and offers to open them again. */
export function announceClosed(closed: readonly WindowState[], manager: WindowManager, services: ShellServices): void {
  const { store, commands } = services;
  const t = texts[store.getState().language];
  const text = closed.length === 1 ? t.closed(closed[0]!.title || t.untitled) : t.closedMany(closed.length);
  commands.notify(text, "info", 7000, { label: t.undo, press: () => runWindowsAction("undo", manager, services) });
}

/** Places the windows side by side and returns how many there are. */
function tidy(manager: WindowManager, here: readonly WindowState[]): number {
  const visible = here.filter((w) => w.minimized !== true);
  const items = visible.map((w) => ({ key: keyOf(w), bounds: manager.currentPlace(w).bounds, ...(w.variant === undefined ? {} : { variant: w.variant }) }));
  const layout = tidyLayout(items, manager.area());
  manager.placeAll(new Map([...layout].map(([key, bounds]) => [key, { bounds, maximized: false }])));
  return layout.size;
}

function undo(manager: WindowManager, commands: ShellServices["commands"]): boolean {
  for (let step = manager.history.pop(); step !== undefined; step = manager.history.pop()) {
    if ("closed" in step) {
      // Some may be open again already.
      const closed = step.closed.filter((w) => manager.window(keyOf(w)) === undefined);
      if (closed.length > 0) return reopen(commands, closed);
    } else {
      const places = new Map([...step.placed].filter(([key]) => manager.window(key) !== undefined));
      if (places.size > 0) {
        manager.placeAll(places, false);
        return true;
      }
    }
  }
  return false;
}

/** Opens windows as they were. */
function reopen(commands: ShellServices["commands"], windows: readonly WindowState[]): boolean {
  return windows.every((w) => commands.send("EMIT", { actions: reopening(w), monitorId: w.monitorId }) !== undefined);
}

/** The actions that open a window as it was. */
export function reopening(w: WindowState): Action[] {
  const { windowId, title, content, variant, dockEdge, frameless, windowStyle, minimized } = w;
  const bounds = w.restoreBounds ?? w.bounds;
  const look = Object.fromEntries(Object.entries({ variant, dockEdge, frameless, windowStyle, minimized }).filter(([, v]) => v !== undefined));
  const actions: Action[] = [{ type: "window.create", windowId, title, bounds, content, ...look }];
  // A move by a person keeps the window where that person had put it.
  if (w.placed === true) actions.push({ type: "window.move", windowId, x: bounds.x, y: bounds.y });
  if (w.maximized === true && isStandard(w)) actions.push({ type: "window.maximize", windowId });
  return actions;
}

function newNote(commands: ShellServices["commands"], here: readonly WindowState[], monitorId: string, title: string): void {
  let n = 1;
  while (here.some((w) => w.windowId === `my-note-${n}`)) n++;
  const shift = (here.length % 8) * 36;
  const bounds = { x: 96 + shift, y: 72 + shift, w: 420, h: 320 };
  commands.send("EMIT", { actions: [{ type: "window.create", windowId: `my-note-${n}`, title: n === 1 ? title : `${title} ${n}`, bounds, content: { renderer: "markdown", data: "" } }], monitorId });
}
