// Applies events about agents and queued messages.

import { type Agent, type Draft, firstMonitor, firstOf, limits } from "./state.js";
import { compareText, firstBytes, utf8Length, wholeUnits } from "./text.js";
import type {
  AgentID,
  AgentKind,
  AgentResponse,
  AgentThinking,
  MessageAccepted,
  MessageID,
  MessageQueued,
  MonitorID,
  QueueUpdated,
  ToolProgress,
  WindowAgentStatus,
} from "./wire.gen.js";

/** The kind of an agent by its role. Plans and their todo agents are task agents. */
function kindOfAgent(role: AgentID): AgentKind {
  if (role.startsWith("plan-")) return "task";
  const kinds: AgentKind[] = ["window", "ephemeral", "task", "client"];
  return kinds.find((k) => role.startsWith(`${k}-`)) ?? "main";
}

interface Named {
  agentId?: AgentID;
  monitorId?: MonitorID;
  messageId?: MessageID;
}

/** Returns the agent of an event, and adds it if it is new. An agent exists from the first event that names it until its turn is complete. */
function agentOf(d: Draft, p: Named, now: number): Agent | undefined {
  if (!p.agentId) return undefined;
  const known = d.desktop.agents.get(p.agentId);
  if (known !== undefined) return known;
  if (d.desktop.agents.size >= limits.agents) d.drop("agents", firstOf(d.desktop.agents, byStart)!.role);
  const agent: Agent = {
    role: p.agentId,
    kind: kindOfAgent(p.agentId),
    monitorId: p.monitorId ?? "",
    status: "running",
    messageId: p.messageId ?? "",
    startedAt: now,
    ...silence,
  };
  d.edit("agents").set(p.agentId, agent);
  return agent;
}

const silence = { text: "", thinking: "", textBytes: 0, thinkingBytes: 0 };

function byStart(a: Agent, b: Agent): number {
  return (a.startedAt ?? 0) - (b.startedAt ?? 0) || compareText(a.role, b.role);
}

function change(d: Draft, agent: Agent, what: Partial<Agent>): Agent {
  const next = { ...agent, ...what };
  d.edit("agents").set(agent.role, next);
  return next;
}

/** Returns the agent of an event that only a running agent causes, and marks it as running. */
function runningAgent(d: Draft, p: Named, now: number): Agent | undefined {
  const a = agentOf(d, p, now);
  return a === undefined || a.status === "running" ? a : change(d, a, { status: "running" });
}

export function acceptMessage(d: Draft, p: MessageAccepted, now: number): void {
  if (p.duplicate) return;
  dequeue(d, p.messageId);
  let a = runningAgent(d, p, now);
  if (a === undefined || p.how === "steered") return;
  if (a.messageId !== p.messageId) a = change(d, a, { messageId: p.messageId, ...silence });
  if (p.how === "ephemeral" && a.kind !== "ephemeral") change(d, a, { kind: "ephemeral" });
}

export function applyThinking(d: Draft, p: AgentThinking, now: number): void {
  const a = runningAgent(d, p, now);
  if (a === undefined) return;
  const said = writeText(a.thinking, a.thinkingBytes, p);
  if (said !== undefined) change(d, a, { thinking: said.text, thinkingBytes: said.bytes });
}

export function applyResponse(d: Draft, p: AgentResponse, now: number): void {
  if (p.isComplete) {
    d.drop("agents", p.agentId ?? "");
    return;
  }
  const a = runningAgent(d, p, now);
  if (a === undefined) return;
  const said = writeText(a.text, a.textBytes, p);
  if (said !== undefined) change(d, a, { text: said.text, textBytes: said.bytes });
}

/**
 * Writes a delta at its offset, which is the end of the text unless the agent rewrites a part. A delta beyond the end is
 * dropped, because the text before it was truncated. An event with the whole content replaces the text.
 */
function writeText(
  text: string,
  bytes: number,
  p: { content?: string; delta?: string; offset?: number },
): { text: string; bytes: number } | undefined {
  const before = text;
  const delta = p.content || p.delta || "";
  const offset = p.content ? 0 : (p.offset ?? 0);
  if (offset > text.length) return undefined;
  if (offset < text.length) {
    text = text.slice(0, wholeUnits(text, offset));
    bytes = utf8Length(text);
  }
  const more = firstBytes(delta, limits.agentText - bytes);
  if (more === "" && text === before) return undefined;
  return { text: text + more, bytes: bytes + utf8Length(more) };
}

/** Truncates a text to the limit of agent texts. */
export function bounded(text: string): { text: string; bytes: number } {
  const kept = firstBytes(text, limits.agentText);
  return { text: kept, bytes: utf8Length(kept) };
}

export function setTool(d: Draft, p: ToolProgress, now: number): void {
  const a = runningAgent(d, p, now);
  if (a === undefined) return;
  const tool = a.tool ?? "";
  const progress = p.message ?? "";
  if (p.status === "running" && (tool !== p.toolName || (a.toolProgress ?? "") !== progress)) change(d, a, { tool: p.toolName, toolProgress: progress });
  if (p.status !== "running" && tool === p.toolName) change(d, a, { tool: "", toolProgress: "" });
}

export function setWindowAgent(d: Draft, p: WindowAgentStatus, now: number): void {
  if (p.status === "released") {
    d.drop("agents", p.agentId);
    return;
  }
  const had = d.desktop.agents.has(p.agentId);
  const a = agentOf(d, p, now);
  if (a === undefined) return;
  const status = p.status === "active" ? "running" : had ? a.status : "idle";
  change(d, a, { windowId: p.windowId, status });
}

export function enqueue(d: Draft, p: MessageQueued, now: number): void {
  const monitor = p.monitorId || firstMonitor;
  const queue = d.desktop.queues.get(monitor) ?? [];
  const known = queue.some((m) => m.id === p.messageId);
  if (p.duplicate || known || p.messageId === "" || queue.length >= limits.queued || !d.addMonitor(monitor)) return;
  const at = Math.min(Math.max(p.position - 1, 0), queue.length);
  d.edit("queues").set(monitor, queue.toSpliced(at, 0, { id: p.messageId, timestamp: now, text: "" }));
}

export function dequeue(d: Draft, message: MessageID): void {
  for (const [monitorId, queue] of [...d.desktop.queues]) {
    const i = queue.findIndex((m) => m.id === message);
    if (i >= 0) setQueue(d, { monitorId, messages: queue.toSpliced(i, 1) });
  }
}

export function setQueue(d: Draft, p: QueueUpdated): void {
  if (p.messages.length === 0) d.drop("queues", p.monitorId);
  else if (d.addMonitor(p.monitorId)) d.edit("queues").set(p.monitorId, p.messages.slice(0, limits.queued));
}
