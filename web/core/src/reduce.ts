// Folds events into the desktop state, by the rules of the Go package desktop. Every hub and page that applied the same log
// has the same state and the same hash.

import { acceptMessage, applyResponse, applyThinking, dequeue, enqueue, setQueue, setTool, setWindowAgent } from "./agent.js";
import type { HubEvent, KnownEvent } from "./event.js";
import { applyNotebook, withoutExecutions } from "./notebook.js";
import {
  askDialog,
  createShortcut,
  openDialog,
  openPrompt,
  setBadge,
  showNotification,
  showToast,
  toastEnd,
  updateShortcut,
} from "./notice.js";
import { applyPlan } from "./plan.js";
import { comparePositions, zero } from "./position.js";
import { rewind, setRow } from "./row.js";
import { load } from "./snapshot.js";
import { type DesktopState, Draft, firstMonitor } from "./state.js";
import {
  type ActionContext,
  createWindow,
  editWindow,
  findWindow,
  focusWindow,
  maximizeWindow,
  minimizeWindow,
  restoreWindow,
  updateWindow,
} from "./window.js";
import type { Action, MonitorID, MonitorStatus } from "./wire.gen.js";

/**
 * Applies an event. Events must come in log order; an event that is not newer than the state changes nothing.
 * A session_state in mode snapshot replaces the whole state, whether it is in the log or, without a position, the first event
 * of a connection, which may be older. Unknown events and events without effect only advance the position.
 */
export function applyEvent(desktop: DesktopState, e: HubEvent): DesktopState {
  const whole = e.type === "session_state" && e.data.mode === "snapshot" ? e.data : undefined;
  if (whole !== undefined && e.at === zero) return load(whole, whole.last_message_id ?? zero);
  if (comparePositions(e.at, desktop.at) <= 0) return desktop;
  if (whole !== undefined) return load(whole, e.at);
  const d = new Draft(desktop);
  d.desktop.at = e.at;
  if (e.type === "" || addressee(e) !== "") return d.desktop;
  applyPayload(d, e);
  for (const t of d.desktop.toasts.values()) if (toastEnd(t) <= e.time) d.drop("toasts", t.id);
  return d.desktop;
}

/** The connection that an event is addressed to. The state ignores such events, including their time. */
function addressee(e: KnownEvent): string {
  switch (e.type) {
    case "MESSAGE_ACCEPTED":
    case "MESSAGE_QUEUED":
    case "MESSAGE_REJECTED":
    case "MESSAGE_REPEATED":
      return e.data.to ?? "";
  }
  return "";
}

function applyPayload(d: Draft, e: KnownEvent): void {
  switch (e.type) {
    case "ACTIONS": {
      const p = e.data;
      const ctx = { monitor: p.monitorId || firstMonitor, agent: p.agentId ?? "", message: p.messageId ?? "", now: e.time };
      for (const a of p.actions) applyAction(d, ctx, a);
      return;
    }
    case "MONITOR_STATUS":
      return setMonitor(d, e.data);
    case "APPROVAL_REQUEST":
      return openDialog(d, e.data, e.time);
    case "DIALOG_CLOSED":
      return d.drop("dialogs", e.data.dialogId);
    case "PROMPT_CLOSED":
      return d.drop("prompts", e.data.promptId);
    case "PRESENCE":
      d.desktop.presence = e.data.connections;
      d.desktop.connections = Math.max(e.data.total ?? 0, e.data.connections.length);
      return;
    case "OWNER_CHANGED":
      d.desktop.owner = e.data.replica;
      return;
    case "SESSION_RENAMED":
      d.desktop.title = e.data.title;
      return;
    case "PROVIDER_CHANGED":
      d.desktop.provider = e.data.provider;
      return;
    case "MODE_CHANGED":
      d.desktop.agentMode = e.data.mode.id === "" ? undefined : e.data.mode;
      return;
    case "INSTRUCTIONS_CHANGED":
      d.desktop.instructions = e.data.instructions;
      return;
    case "AUTO_APPROVAL_CHANGED":
      d.desktop.autoApproval = e.data.useDefault === true ? undefined : e.data.rules;
      return;
    case "MESSAGE_ACCEPTED":
      return acceptMessage(d, e.data, e.time);
    case "MESSAGE_QUEUED":
      return enqueue(d, e.data, e.time);
    case "MESSAGE_REJECTED":
      return dequeue(d, e.data.messageId);
    case "QUEUE_UPDATED":
      return setQueue(d, e.data);
    case "AGENT_THINKING":
      return applyThinking(d, e.data, e.time);
    case "AGENT_RESPONSE":
      return applyResponse(d, e.data, e.time);
    case "TOOL_PROGRESS":
      return setTool(d, e.data, e.time);
    case "WINDOW_AGENT_STATUS":
      return setWindowAgent(d, e.data, e.time);
    case "TURN_INTERRUPTED":
      return d.drop("agents", e.data.agentId);
    case "messageUpdated":
      return setRow(d, e.data);
    case "HISTORY_REWOUND":
      return rewind(d, e.data);
    default:
      if (!applyNotebook(d, e)) applyPlan(d, e);
  }
}

/** Applies one action. Captures and app refreshes do not change the state. */
function applyAction(d: Draft, ctx: ActionContext, a: Action): void {
  const m = ctx.monitor;
  switch (a.type) {
    case "window.create":
      return createWindow(d, ctx, { ...a, content: withoutExecutions(a.content) });
    case "window.close": {
      const key = findWindow(d.desktop, m, a.windowId);
      if (key !== undefined) d.drop("windows", key);
      return;
    }
    case "window.focus":
      return focusWindow(d, m, a.windowId);
    case "window.minimize":
      return minimizeWindow(d, m, a.windowId);
    case "window.maximize":
      return maximizeWindow(d, m, a.windowId);
    case "window.restore":
      return restoreWindow(d, m, a.windowId);
    case "window.move": {
      const key = findWindow(d.desktop, m, a.windowId);
      if (key === undefined) return;
      return editWindow(d, m, a.windowId, { bounds: { ...d.desktop.windows.get(key)!.bounds, x: a.x, y: a.y }, placed: (a.agentId || ctx.agent) === "" });
    }
    case "window.resize": {
      const key = findWindow(d.desktop, m, a.windowId);
      if (key === undefined) return;
      return editWindow(d, m, a.windowId, { bounds: { ...d.desktop.windows.get(key)!.bounds, w: a.w, h: a.h }, placed: (a.agentId || ctx.agent) === "" });
    }
    case "window.setTitle":
      return editWindow(d, m, a.windowId, { title: a.title });
    case "window.setContent":
      return editWindow(d, m, a.windowId, { content: withoutExecutions(a.content) });
    case "window.updateContent":
      return updateWindow(d, m, a);
    case "window.lock":
      return editWindow(d, m, a.windowId, { lock: a.agentId });
    case "window.unlock":
      return editWindow(d, m, a.windowId, { lock: "" });
    default:
      return applyNonWindowAction(d, ctx, a);
  }
}

/** Applies an action that does not concern a window. */
function applyNonWindowAction(d: Draft, ctx: ActionContext, a: Action): void {
  switch (a.type) {
    case "notification.show":
      return showNotification(d, ctx, a);
    case "notification.dismiss":
      return d.drop("notifications", a.id);
    case "toast.show":
      return showToast(d, ctx, a);
    case "toast.dismiss":
      return d.drop("toasts", a.id);
    case "dialog.confirm":
      return askDialog(d, ctx, a);
    case "user.prompt.show":
      return openPrompt(d, ctx, a);
    case "user.prompt.dismiss":
      return d.drop("prompts", a.id);
    case "app.badge":
      return setBadge(d, a);
    case "desktop.createShortcut":
      return createShortcut(d, a.shortcut);
    case "desktop.removeShortcut":
      return d.drop("shortcuts", a.shortcutId);
    case "desktop.updateShortcut":
      return updateShortcut(d, a);
  }
}

/** Adds, updates or removes a monitor. */
function setMonitor(d: Draft, p: MonitorStatus): void {
  const { messageId: _, ...status } = p;
  if (p.state !== "removed") {
    if (d.addMonitor(p.monitorId)) d.edit("monitors").set(p.monitorId, status);
  } else if (p.monitorId !== firstMonitor) {
    removeMonitor(d, p.monitorId);
  }
}

function removeMonitor(d: Draft, id: MonitorID): void {
  const gone = (v: { monitorId?: MonitorID }): boolean => v.monitorId === id;
  d.drop("monitors", id);
  d.drop("queues", id);
  d.dropIf("windows", gone);
  d.dropIf("dialogs", gone);
  d.dropIf("prompts", gone);
  d.dropIf("notifications", gone);
  d.dropIf("toasts", gone);
}
