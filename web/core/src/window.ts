// Applies actions to windows.

import { decodeText } from "./decode.js";
import { pick, rawText } from "./exact.js";
import { shapeOf } from "./shape.js";
import { type DesktopState, type Draft, firstMonitor, limits, windowKey } from "./state.js";
import { compareText, wholeUnits } from "./text.js";
import type {
  AgentID,
  Content,
  MessageID,
  MonitorID,
  UpdateOperation,
  WindowCreate,
  WindowID,
  WindowState,
  WindowUpdateContent,
} from "./wire.gen.js";

/** The data of the event that an action needs. */
export interface ActionContext {
  monitor: MonitorID;
  agent: AgentID;
  message: MessageID;
  now: number;
}

/** The key of the window that an action addresses. The id may itself be a key with a monitor. */
export function findWindow(desktop: DesktopState, monitor: MonitorID, id: WindowID): string | undefined {
  if (id.indexOf("/") > 0 && desktop.windows.has(id)) return id;
  const key = windowKey(monitor, id);
  return desktop.windows.has(key) ? key : undefined;
}

/** Updates a window if it exists. */
export function editWindow(d: Draft, monitor: MonitorID, id: WindowID, change: Partial<WindowState>): void {
  const key = findWindow(d.desktop, monitor, id);
  if (key !== undefined) d.edit("windows").set(key, { ...d.desktop.windows.get(key)!, ...change });
}

export function createWindow(d: Draft, ctx: ActionContext, a: WindowCreate): void {
  const key = windowKey(ctx.monitor, a.windowId);
  const old = d.desktop.windows.get(key);
  if (a.windowId === "" || !d.addMonitor(ctx.monitor)) return;
  if (old === undefined && d.desktop.windows.size >= limits.windows) return;
  const w: WindowState = {
    ...pick(a, ["windowId", "title", "bounds", "content", "variant", "dockEdge", "frameless", "windowStyle", "minimized"]),
    monitorId: ctx.monitor,
  };
  if (old?.groupId) w.groupId = old.groupId;
  const parent = parentOf(d.desktop, ctx.monitor, a.agentId || ctx.agent);
  if (parent !== undefined && parent.windowId !== a.windowId) {
    const group = parent.groupId || parent.windowId;
    if (!parent.groupId) d.edit("windows").set(windowKey(ctx.monitor, parent.windowId), { ...parent, groupId: group });
    w.groupId = group;
  }
  d.edit("windows").set(key, w);
  raiseWindow(d, key);
}

/** The window of a window agent: its role is `window-` and a path, whose longest prefix that is a window id counts. */
function parentOf(desktop: DesktopState, monitor: MonitorID, agent: AgentID): WindowState | undefined {
  const prefix = "window-";
  if (!agent.startsWith(prefix)) return undefined;
  for (let id = agent.slice(prefix.length); id !== ""; id = id.slice(0, Math.max(id.lastIndexOf("/"), 0))) {
    const w = desktop.windows.get(windowKey(monitor, id));
    if (w !== undefined) return w;
  }
  return undefined;
}

/** The z range of widgets; standard windows are above. Panels have no z. */
const layerHeight = 1 << 20;

function layerOf(w: WindowState): number {
  return w.variant === "widget" ? 0 : layerHeight;
}

/** Brings a window to the front of its layer. */
export function raiseWindow(d: Draft, key: string): void {
  const w = d.desktop.windows.get(key)!;
  if (w.variant === "panel") return;
  const base = layerOf(w);
  const others = [...d.desktop.windows.values()].filter(
    (o) => o !== w && o.monitorId === w.monitorId && o.variant !== "panel" && layerOf(o) === base,
  );
  let top = others.reduce((most, o) => Math.max(most, o.z ?? 0), base);
  const z = w.z ?? 0;
  if (z > top && z < base + layerHeight) return;
  if (top + 1 >= base + layerHeight) {
    // The range is used up: renumber the other windows in the same order.
    top = base;
    for (const o of others.sort(byZ)) d.edit("windows").set(windowKey(o.monitorId, o.windowId), { ...o, z: ++top });
  }
  d.edit("windows").set(key, { ...w, z: top + 1 });
}

/** Orders windows by monitor, then from back to front. */
export function byZ(a: WindowState, b: WindowState): number {
  return compareMonitors(a.monitorId, b.monitorId) || (a.z ?? 0) - (b.z ?? 0) || compareText(a.windowId, b.windowId);
}

/** Orders monitors, the first one first. */
export function compareMonitors(a: MonitorID, b: MonitorID): number {
  if (a === b) return 0;
  if (a === firstMonitor) return -1;
  if (b === firstMonitor) return 1;
  return compareText(a, b);
}

export function focusWindow(d: Draft, monitor: MonitorID, id: WindowID): void {
  const key = findWindow(d.desktop, monitor, id);
  if (key === undefined) return;
  const w = d.desktop.windows.get(key)!;
  if (w.minimized) d.edit("windows").set(key, { ...w, minimized: false });
  raiseWindow(d, key);
}

export function minimizeWindow(d: Draft, monitor: MonitorID, id: WindowID): void {
  const key = findWindow(d.desktop, monitor, id);
  const w = key === undefined ? undefined : d.desktop.windows.get(key);
  if (w !== undefined && !w.minimized && isStandard(w)) d.edit("windows").set(key!, { ...w, minimized: true });
}

export function isStandard(w: WindowState): boolean {
  return w.variant !== "widget" && w.variant !== "panel";
}

export function maximizeWindow(d: Draft, monitor: MonitorID, id: WindowID): void {
  const key = findWindow(d.desktop, monitor, id);
  const w = key === undefined ? undefined : d.desktop.windows.get(key);
  if (w !== undefined && !w.maximized) d.edit("windows").set(key!, { ...w, maximized: true, restoreBounds: w.bounds });
}

export function restoreWindow(d: Draft, monitor: MonitorID, id: WindowID): void {
  const key = findWindow(d.desktop, monitor, id);
  const w = key === undefined ? undefined : d.desktop.windows.get(key);
  if (w === undefined || (!w.minimized && !w.maximized)) return;
  const { restoreBounds, ...rest } = w;
  d.edit("windows").set(key!, { ...rest, bounds: restoreBounds ?? w.bounds, minimized: false, maximized: false });
}

export function updateWindow(d: Draft, monitor: MonitorID, a: WindowUpdateContent): void {
  const key = findWindow(d.desktop, monitor, a.windowId);
  if (key === undefined) return;
  const w = d.desktop.windows.get(key)!;
  const content = applyUpdate(w.content, a.operation, a.renderer || w.content.renderer);
  if (content !== undefined) d.edit("windows").set(key, { ...w, content });
}

/** Whether a renderer takes text. */
function isText(renderer: string): renderer is "markdown" | "html" | "text" {
  return renderer === "markdown" || renderer === "html" || renderer === "text";
}

/**
 * Content after an operation. If the old content or the new data is not text, append and prepend replace the content
 * if the data fits the renderer; else nothing changes.
 */
function applyUpdate(content: Content, op: UpdateOperation, renderer: string): Content | undefined {
  if (op.op === "clear") return blankContent(renderer);
  if (op.op !== "replace" && isText(renderer) && typeof op.data === "string") {
    const text = isText(content.renderer) ? (content.data as string) : "";
    const more = op.data.toWellFormed();
    const at = op.op === "append" ? text.length : op.op === "prepend" ? 0 : wholeUnits(text, op.position);
    return { renderer, data: at === text.length ? text + more : text.slice(0, at) + more + text.slice(at) };
  }
  return contentFor(renderer, rawText(op, "data"));
}

function blankContent(renderer: string): Content {
  if (isText(renderer)) return { renderer, data: "" };
  switch (renderer) {
    case "table":
      return { renderer, data: { headers: [], rows: [] } };
    case "iframe":
      return { renderer, data: "" };
    case "component":
      return { renderer, data: { components: [] } };
    case "mcp-app":
      return { renderer, data: { server: "", tool: "", uri: "" } };
    case "notebook":
      return { renderer, data: { cells: [] } };
    case "chart":
      return { renderer, data: { kind: "line", series: [] } };
  }
  return { renderer, data: "" } as unknown as Content; // a renderer of a newer hub
}

/** Content for a renderer, if the data fits it. */
function contentFor(renderer: string, data: string): Content | undefined {
  try {
    return decodeText(shapeOf("Content"), `{"renderer":${JSON.stringify(renderer)},"data":${data}}`) as Content;
  } catch {
    return undefined;
  }
}
