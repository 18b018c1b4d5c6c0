// What can be said of an agent that works: its name, what it does, and when it was last heard of.

import { type Agent, type AgentID, type AgentKind, type DesktopState, type MonitorID, type TodoID, type WindowID, windowKey } from "../../../core/src/index.js";
import { monitorNumber } from "../shell/select.js";

/** Without a sign of life for so many ms, an agent is said to still work. */
export const quietAfter = 20_000;

/** The agents at work, the oldest first. A plan as a whole is none of them: it has a place of its own. */
export function workingAgents(agents: DesktopState["agents"]): Agent[] {
  return [...agents.values()]
    .filter((a) => a.status !== "idle" && planTodo(a.role) !== "")
    .sort((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0) || (a.role < b.role ? -1 : 1));
}

export type Doing = { what: "tool"; tool: string } | { what: "waiting" | "writing" | "thinking" | "working" };

/** What an agent does now, as far as its events tell. One that asks somebody waits for the answer. */
export function doingOf(agent: Agent, asks = false): Doing {
  if (asks) return { what: "waiting" };
  if (agent.tool) return { what: "tool", tool: agent.tool };
  if (agent.status === "waiting") return { what: "waiting" };
  if (agent.text !== "") return { what: "writing" };
  return { what: agent.thinking !== "" ? "thinking" : "working" };
}

/** Whether an agent has asked something that nobody has answered. */
export function isAsking(desktop: Pick<DesktopState, "dialogs" | "prompts">, role: AgentID): boolean {
  for (const d of desktop.dialogs.values()) if (d.agentId === role) return true;
  for (const p of desktop.prompts.values()) if (p.agentId === role) return true;
  return false;
}

/** The window whose agent has this role. Such a role is `window-{window}` with perhaps `/{more}`. */
export function windowOfRole(role: AgentID | undefined): WindowID | undefined {
  return /^window-([^/]+)/.exec(role ?? "")?.[1];
}

/**
 * What an agent of a plan works on: a todo, or a layer where there is none yet; nothing for the plan as a whole, and
 * undefined for other agents. Such a role is `plan-{n}` with perhaps `/{todo}.{try}`.
 */
export function planTodo(role: AgentID | undefined): TodoID | undefined {
  const match = /^plan-[^/]+(?:\/(.+?))?(?:\/\d+)?$/.exec(role ?? "");
  return match === null ? undefined : (match[1] ?? "").replace(/\.\d+$/, "");
}

/** What sort of agent it is. Those of plans work on tasks. */
export function kindOf(agent: Pick<Agent, "kind" | "role">): AgentKind {
  return planTodo(agent.role) === undefined ? agent.kind : "task";
}

/** What sort of agent has a role, which is all there is to know once its turn has ended; undefined for none that works here. */
export function kindOfRole(role: AgentID): AgentKind | undefined {
  const kinds: readonly AgentKind[] = ["main", "window", "ephemeral", "task"];
  if (planTodo(role) !== undefined) return "task";
  return kinds.find((k) => role === k || role.startsWith(`${k}-`));
}

export type AgentName =
  | { kind: "main"; monitor: number }
  | { kind: "window"; title: string }
  | { kind: "task"; number: number }
  | { kind: "plan"; task: string }
  | { kind: "ephemeral" };

/** The parts of an agent's name; how they are put together depends on the language. */
export function nameOf(agent: Pick<Agent, "kind" | "role" | "monitorId" | "windowId">, desktop: Pick<DesktopState, "windows" | "todos">): AgentName {
  const todo = planTodo(agent.role);
  if (todo !== undefined) return { kind: "plan", task: desktop.todos.get(todo)?.task ?? "" };
  switch (agent.kind) {
    case "window": {
      const id = agent.windowId || windowOfRole(agent.role) || agent.role;
      return { kind: "window", title: titleOf(desktop, agent.monitorId ?? "", id) };
    }
    case "task":
      return { kind: "task", number: taskNumber(agent.role) };
    case "ephemeral":
      return { kind: "ephemeral" };
    default:
      return { kind: "main", monitor: monitorNumber(agent.monitorId ?? "") };
  }
}

/** Which of the tasks of a turn an agent works on. */
export function taskNumber(role: AgentID): number {
  return Number(/-(\d+)(?:\/\d+)?$/.exec(role)?.[1] ?? 1);
}

/** The title of a window, or its id when it is gone. */
export function titleOf(desktop: Pick<DesktopState, "windows">, monitor: MonitorID, id: WindowID): string {
  return titleIn(desktop, monitor, id) || id;
}

/** The title of a window, or nothing when it is gone. */
export function titleIn(desktop: Pick<DesktopState, "windows">, monitor: MonitorID, id: WindowID): string {
  return desktop.windows.get(windowKey(monitor, id))?.title ?? "";
}

/** For how many ms nothing was heard of an agent, once that is worth saying. */
export function quietFor(lastSign: number, now: number): number | undefined {
  return now - lastSign > quietAfter ? now - lastSign : undefined;
}
