// Names, activities and last events of running agents.

import { type Agent, type AgentID, type AgentKind, type DesktopState, type MonitorID, type TodoID, type WindowID, windowKey } from "../../../core/src/index.js";
import { monitorNumber } from "../shell/select.js";

/** After this many ms without an event, the page says that the agent is still working. */
export const quietAfter = 20_000;

/** The running agents, oldest first, without the plan itself, which is shown elsewhere. */
export function workingAgents(agents: DesktopState["agents"]): Agent[] {
  return [...agents.values()]
    .filter((a) => a.status !== "idle" && planTodo(a.role) !== "")
    .sort((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0) || (a.role < b.role ? -1 : 1));
}

export type Doing = { what: "tool"; tool: string; progress: string } | { what: "waiting" | "writing" | "thinking" | "working" };

/** The activity of an agent by its events. An agent with an open question is waiting for the answer. */
export function doingOf(agent: Agent, asks = false): Doing {
  if (asks) return { what: "waiting" };
  if (agent.tool) return { what: "tool", tool: agent.tool, progress: agent.toolProgress ?? "" };
  if (agent.status === "waiting") return { what: "waiting" };
  if (agent.text !== "") return { what: "writing" };
  return { what: agent.thinking !== "" ? "thinking" : "working" };
}

/** Whether an agent has an open question. */
export function isAsking(desktop: Pick<DesktopState, "dialogs" | "prompts">, role: AgentID): boolean {
  for (const d of desktop.dialogs.values()) if (d.agentId === role) return true;
  for (const p of desktop.prompts.values()) if (p.agentId === role) return true;
  return false;
}

/** The window of an agent role `window-{window}[/{more}]`. */
export function windowOfRole(role: AgentID | undefined): WindowID | undefined {
  return /^window-([^/]+)/.exec(role ?? "")?.[1];
}

/**
 * The todo, or layer, that a plan agent works on; empty for the plan itself,
 * undefined for other agents. The role is `plan-{n}[/{todo}.{try}]`.
 */
export function planTodo(role: AgentID | undefined): TodoID | undefined {
  const match = /^plan-[^/]+(?:\/(.+?))?(?:\/\d+)?$/.exec(role ?? "");
  return match === null ? undefined : (match[1] ?? "").replace(/\.\d+$/, "");
}

/** The kind of an agent. Plan agents are task agents. */
export function kindOf(agent: Pick<Agent, "kind" | "role">): AgentKind {
  return planTodo(agent.role) === undefined ? agent.kind : "task";
}

/** The kind of agent by its role, which is all that is known after its turn ended; undefined for other roles. */
export function kindOfRole(role: AgentID): AgentKind | undefined {
  const kinds: readonly AgentKind[] = ["main", "window", "ephemeral", "task", "client"];
  if (planTodo(role) !== undefined) return "task";
  return kinds.find((k) => role === k || role.startsWith(`${k}-`));
}

export type AgentName =
  | { kind: "main"; monitor: number }
  | { kind: "window"; title: string | undefined }
  | { kind: "task"; number: number }
  | { kind: "plan"; task: string }
  | { kind: "ephemeral" }
  | { kind: "client"; name: string };

/** The parts of an agent's name. A window that is closed has no title. The language decides how they are combined. */
export function nameOf(agent: Pick<Agent, "kind" | "role" | "monitorId" | "windowId">, desktop: Pick<DesktopState, "windows" | "todos">): AgentName {
  const todo = planTodo(agent.role);
  if (todo !== undefined) return { kind: "plan", task: desktop.todos.get(todo)?.task ?? "" };
  switch (agent.kind) {
    case "window": {
      const id = agent.windowId || windowOfRole(agent.role) || agent.role;
      return { kind: "window", title: desktop.windows.get(windowKey(agent.monitorId ?? "", id))?.title };
    }
    case "task":
      return { kind: "task", number: taskNumber(agent.role) };
    case "ephemeral":
      return { kind: "ephemeral" };
    case "client":
      return { kind: "client", name: clientName(agent.role) };
    default:
      return { kind: "main", monitor: monitorNumber(agent.monitorId ?? "") };
  }
}

/** The name of a program in its role, which is `client-{name}[/{n}]`. */
function clientName(role: AgentID): string {
  return role.replace(/^client-/, "").replace(/\/\d+$/, "");
}

/** The number of the task, within its turn, that an agent works on. */
export function taskNumber(role: AgentID): number {
  return Number(/-(\d+)(?:\/\d+)?$/.exec(role)?.[1] ?? 1);
}

/** The title of a window as in messages about it: its id if it is closed or has none. */
export function titleOf(desktop: Pick<DesktopState, "windows">, monitor: MonitorID, id: WindowID): string {
  return titleIn(desktop, monitor, id) || id;
}

/** The title of a window; empty if the window is closed. */
export function titleIn(desktop: Pick<DesktopState, "windows">, monitor: MonitorID, id: WindowID): string {
  return desktop.windows.get(windowKey(monitor, id))?.title ?? "";
}

/** The ms since an agent's last event, if at least quietAfter. */
export function quietFor(lastSign: number, now: number): number | undefined {
  return now - lastSign > quietAfter ? now - lastSign : undefined;
}
