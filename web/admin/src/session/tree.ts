import type { Agent } from "../api/types.js";

export interface Branch {
  readonly agent: Agent;
  readonly children: readonly Branch[];
}

/** Agents below those whose tasks they do. Whose parent is not there stands at the top; nobody stands twice. */
export function treeOf(agents: readonly Agent[]): Branch[] {
  const ids = new Set(agents.map((a) => a.id));
  const below = new Map<string, Agent[]>();
  for (const a of agents) {
    const parent = a.parent !== undefined && a.parent !== a.id && ids.has(a.parent) ? a.parent : "";
    below.set(parent, [...(below.get(parent) ?? []), a]);
  }
  const placed = new Set<string>();
  const branch = (agent: Agent): Branch => {
    placed.add(agent.id);
    return { agent, children: (below.get(agent.id) ?? []).filter((a) => !placed.has(a.id)).map(branch) };
  };
  const top = (below.get("") ?? []).map(branch);
  // What goes round in a circle begins somewhere.
  const circles = agents.flatMap((a) => (placed.has(a.id) ? [] : [branch(a)]));
  return [...top, ...circles];
}
