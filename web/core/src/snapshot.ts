// Snapshots of the desktop state: loading, writing and hashing them.

import { bounded } from "./agent.js";
import { encode, putMap } from "./encode.js";
import { bySince, dialogsByDeadline, promptsByDeadline } from "./notice.js";
import { loadPlan, planSnapshot } from "./plan.js";
import { putRow } from "./row.js";
import { shapeOf } from "./shape.js";
import { type DesktopState, Draft, emptyDesktop, firstMonitor, idleMonitor, windowKey } from "./state.js";
import { compareText } from "./text.js";
import { byZ, compareMonitors } from "./window.js";
import type { AgentState, Budget, Position, SessionState, SessionStatus } from "./wire.gen.js";

/** Builds the desktop state of a snapshot. */
export function load(p: SessionState, at: Position): DesktopState {
  const d = new Draft({
    ...emptyDesktop(),
    at,
    title: p.title ?? "",
    owner: p.owner ?? "",
    provider: p.provider ?? "",
    autoApproval: p.autoApproval,
    agentMode: p.agentMode?.id === "" ? undefined : p.agentMode,
    instructions: p.instructions ?? "",
    presence: p.presence ?? [],
    connections: Math.max(p.connections ?? 0, p.presence?.length ?? 0),
    monitors: new Map((p.monitors ?? []).map((m) => [m.monitorId, m])),
    windows: new Map((p.windows ?? []).map((w) => [windowKey(w.monitorId, w.windowId), w])),
    dialogs: new Map((p.dialogs ?? []).map((v) => [v.dialogId, v])),
    prompts: new Map((p.prompts ?? []).map((v) => [v.id, v])),
    notifications: new Map((p.notifications ?? []).map((v) => [v.id, v])),
    toasts: new Map((p.toasts ?? []).map((v) => [v.id, v])),
    badges: new Map(Object.entries(p.badges ?? {})),
    shortcuts: new Map((p.shortcuts ?? []).map((s) => [s.id, s])),
    queues: new Map(Object.entries(p.queues ?? {})),
  });
  for (const a of p.agents ?? []) {
    const before = d.desktop.agents.get(a.role); // a role that occurs twice is merged
    const text = bounded((before?.text ?? "") + (a.text ?? ""));
    const thinking = bounded((before?.thinking ?? "") + (a.thinking ?? ""));
    d.edit("agents").set(a.role, {
      ...a,
      text: text.text,
      textBytes: text.bytes,
      thinking: thinking.text,
      thinkingBytes: thinking.bytes,
    });
  }
  for (const row of p.recent_messages ?? []) putRow(d, row);
  loadPlan(d, p);
  if (!d.desktop.monitors.has(firstMonitor)) d.edit("monitors").set(firstMonitor, idleMonitor(firstMonitor));
  return d.desktop;
}

/** The snapshot of a desktop state, in canonical order. */
export function snapshot(desktop: DesktopState): SessionState {
  const monitors = [...desktop.monitors.values()].sort((a, b) => compareMonitors(a.monitorId, b.monitorId));
  const budgets = monitors.flatMap((m) => (m.budget === undefined ? [] : [[m.monitorId, m.budget] as [string, Budget]]));
  const queues = [...desktop.queues].sort((a, b) => compareMonitors(a[0], b[0]));
  const badges = [...desktop.badges].sort((a, b) => compareText(a[0], b[0]));
  const state: SessionState = {
    mode: "snapshot",
    heartbeat_ms: 0,
    status: status(desktop),
    title: desktop.title,
    owner: desktop.owner,
    provider: desktop.provider,
    monitors,
    windows: [...desktop.windows.values()].sort(byZ),
    agents: [...desktop.agents.values()].sort((a: AgentState, b: AgentState) => compareText(a.role, b.role)),
    dialogs: [...desktop.dialogs.values()].sort(dialogsByDeadline),
    prompts: [...desktop.prompts.values()].sort(promptsByDeadline),
    notifications: [...desktop.notifications.values()].sort(bySince),
    toasts: [...desktop.toasts.values()].sort(bySince),
    shortcuts: [...desktop.shortcuts.values()].sort((a, b) => a.createdAt - b.createdAt || compareText(a.id, b.id)),
    ...planSnapshot(desktop),
    recent_messages: [...desktop.rows.values()].map((r) => r.row).sort((a, b) => a.ts - b.ts),
    connections: desktop.connections,
    presence: [...desktop.presence],
    last_message_id: desktop.at,
  };
  if (desktop.autoApproval !== undefined) state.autoApproval = desktop.autoApproval;
  if (desktop.agentMode !== undefined) state.agentMode = desktop.agentMode;
  if (desktop.instructions !== "") state.instructions = desktop.instructions;
  putMap(state, "queues", { kind: "list", of: shapeOf("QueuedMessage"), minLength: 0, maxLength: Infinity }, queues);
  putMap(state, "budgets", shapeOf("Budget"), budgets);
  putMap(state, "badges", { kind: "integer", min: 0, max: Infinity }, badges);
  return state;
}

/** Summarizes the activity of the session. */
export function status(desktop: DesktopState): SessionStatus {
  if (desktop.plan?.status === "paused") return "paused";
  if (desktop.dialogs.size > 0 || desktop.prompts.size > 0 || desktop.requests.size > 0) return "waiting";
  if (desktop.layer !== "") return "executing";
  for (const a of desktop.agents.values()) if (a.status === "running") return "executing";
  return "idle";
}

/** The text of a snapshot, byte for byte as the hub encodes it. */
export function snapshotText(state: SessionState): string {
  return encode(shapeOf("SessionState"), state);
}

/**
 * The hash of the state, equal to the hub's X-State-Hash for the same log. It needs WebCrypto, which
 * browsers provide only on https and on localhost.
 */
export async function hash(desktop: DesktopState): Promise<string> {
  const { mode: _, last_message_id: __, ...state } = snapshot(desktop);
  const text = snapshotText({ ...state, mode: "" as never, heartbeat_ms: 0 });
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (b) => b.toString(16).padStart(2, "0")).join("");
}
