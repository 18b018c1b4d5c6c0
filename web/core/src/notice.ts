// Notifications, toasts, badges, shortcuts, dialogs and prompts.

import { pick } from "./exact.js";
import { type Draft, firstOf, limits } from "./state.js";
import { compareText } from "./text.js";
import type { ActionContext } from "./window.js";
import type {
  AppBadge,
  ApprovalRequest,
  DialogConfirm,
  NotificationShow,
  OpenPrompt,
  PromptShow,
  Shortcut,
  ShownNotification,
  ShownToast,
  ToastShow,
  UpdateShortcut,
} from "./wire.gen.js";

/** The default lifetimes, in ms. */
const defaultDurations = { dialog: 60_000, prompt: 300_000, toast: 5_000 };

export function showNotification(d: Draft, ctx: ActionContext, a: NotificationShow): void {
  if (a.id === "" || !d.addMonitor(ctx.monitor)) return;
  d.edit("notifications").set(a.id, {
    ...pick(a, ["id", "title", "body", "icon", "duration"]),
    since: ctx.now,
    monitorId: ctx.monitor,
  });
  if (d.desktop.notifications.size > limits.notifications) d.drop("notifications", firstOf(d.desktop.notifications, bySince)!.id);
}

/** Orders notices by age, oldest first. */
export function bySince(a: ShownNotification | ShownToast, b: ShownNotification | ShownToast): number {
  return (a.since ?? 0) - (b.since ?? 0) || compareText(a.id, b.id);
}

export function showToast(d: Draft, ctx: ActionContext, a: ToastShow): void {
  if (a.id === "" || !d.addMonitor(ctx.monitor)) return;
  d.edit("toasts").set(a.id, {
    ...pick(a, ["id", "message", "variant", "action", "duration"]),
    since: ctx.now,
    monitorId: ctx.monitor,
  });
  if (d.desktop.toasts.size > limits.toasts) d.drop("toasts", firstOf<ShownToast>(d.desktop.toasts, bySince)!.id);
}

/** The time a toast expires. */
export function toastEnd(t: ShownToast): number {
  return (t.since ?? 0) + (t.duration || defaultDurations.toast);
}

export function setBadge(d: Draft, a: AppBadge): void {
  if (a.count === 0) d.drop("badges", a.appId);
  else if (d.desktop.badges.has(a.appId) || d.desktop.badges.size < limits.badges) d.edit("badges").set(a.appId, a.count);
}

export function createShortcut(d: Draft, s: Shortcut): void {
  if (d.desktop.shortcuts.has(s.id) || d.desktop.shortcuts.size < limits.shortcuts) d.edit("shortcuts").set(s.id, s);
}

export function updateShortcut(d: Draft, a: UpdateShortcut): void {
  const old = d.desktop.shortcuts.get(a.shortcutId);
  if (old === undefined) return;
  const u = a.updates;
  const next = { ...old };
  if (u.label !== undefined) next.label = u.label;
  if (u.icon !== undefined) next.icon = u.icon;
  if (u.target !== undefined) next.target = u.target;
  if (u.osActions !== undefined) next.osActions = u.osActions;
  if (u.iconType) next.iconType = u.iconType;
  if (u.type) next.type = u.type;
  d.edit("shortcuts").set(a.shortcutId, next);
}

export function openDialog(d: Draft, p: ApprovalRequest, now: number): void {
  const full = !d.desktop.dialogs.has(p.dialogId) && d.desktop.dialogs.size >= limits.dialogs;
  if (p.dialogId === "" || full || (p.monitorId && !d.addMonitor(p.monitorId))) return;
  d.edit("dialogs").set(p.dialogId, p.deadline ? p : { ...p, deadline: now + defaultDurations.dialog });
}

/** Adds a DialogConfirm action as an approval request of its agent. */
export function askDialog(d: Draft, ctx: ActionContext, a: DialogConfirm): void {
  const request: ApprovalRequest = {
    ...pick(a, ["title", "message", "confirmText", "cancelText", "permissionOptions"]),
    dialogId: a.id,
    agentId: a.agentId || ctx.agent,
    monitorId: ctx.monitor,
    messageId: ctx.message,
  };
  openDialog(d, request, ctx.now);
}

export function openPrompt(d: Draft, ctx: ActionContext, a: PromptShow): void {
  const full = !d.desktop.prompts.has(a.id) && d.desktop.prompts.size >= limits.prompts;
  if (a.id === "" || full || !d.addMonitor(ctx.monitor)) return;
  d.edit("prompts").set(a.id, {
    ...pick(a, ["id", "title", "message", "options", "multiSelect", "inputField", "allowDismiss", "clientTool"]),
    deadline: ctx.now + defaultDurations.prompt,
    agentId: a.agentId || ctx.agent,
    messageId: ctx.message,
    monitorId: ctx.monitor,
  });
}

export function dialogsByDeadline(a: ApprovalRequest, b: ApprovalRequest): number {
  return (a.deadline ?? 0) - (b.deadline ?? 0) || compareText(a.dialogId, b.dialogId);
}

export function promptsByDeadline(a: OpenPrompt, b: OpenPrompt): number {
  return (a.deadline ?? 0) - (b.deadline ?? 0) || compareText(a.id, b.id);
}
