// Opens windows with files. They are windows of the desktop, so all tabs show them.

import { type Action, type MonitorID, shownMonitor, type WindowState } from "../../../core/src/index.js";
import type { Commands } from "../shell/commands.js";
import type { Shell } from "../shell/shell.js";
import { files } from "../texts/files.js";
import { addressOf, baseName, kindOf } from "./paths.js";

/** The action that opens an address in a window, or that brings its window to the front. */
export function openAddress(address: string, title: string, size: { w: number; h: number }, monitor: MonitorID, windows: Iterable<WindowState>): Action {
  const here = [...windows].filter((w) => w.monitorId === monitor);
  const open = here.find((w) => w.content.renderer === "iframe" && w.content.data === address);
  if (open !== undefined) return { type: "window.focus", windowId: open.windowId };
  const shift = (here.length % 8) * 32;
  return {
    type: "window.create",
    windowId: `file-${hashOf(address)}`,
    title,
    bounds: { x: 96 + shift, y: 56 + shift, ...size },
    content: { renderer: "iframe", data: address },
  };
}

/** A short name for a text, which two texts do not share by accident. */
function hashOf(text: string): string {
  let a = 0x811c9dc5;
  let b = 0x1234567;
  for (let i = 0; i < text.length; i++) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193) >>> 0;
    b = Math.imul(b ^ text.charCodeAt(i), 0x85ebca6b) >>> 0;
  }
  return a.toString(36) + b.toString(36);
}

function emit(commands: Commands, s: Shell, action: (monitor: MonitorID) => Action): void {
  const monitorId = shownMonitor(s.view, s.desktop);
  commands.send("EMIT", { actions: [action(monitorId)], monitorId });
  commands.showPhonePage("windows");
}

/** Opens a file of the session in a window. */
export function openFile(commands: Commands, s: Shell, path: string): void {
  const kind = kindOf(path);
  const size = kind === "audio" ? { w: 420, h: 160 } : kind === "csv" || kind === "pdf" ? { w: 820, h: 600 } : { w: 680, h: 520 };
  emit(commands, s, (monitor) => openAddress(addressOf(path), baseName(path), size, monitor, s.desktop.windows.values()));
}

/** Opens the Files window. */
export function openFiles(commands: Commands, s: Shell): void {
  emit(commands, s, (monitor) => openAddress("/files/", files[s.language].title, { w: 640, h: 440 }, monitor, s.desktop.windows.values()));
}
