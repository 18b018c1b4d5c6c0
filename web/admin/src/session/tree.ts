import type { Agent } from "../api/types.js";

export interface Branch {
  readonly agent: Agent;
  readonly children: readonly Branch[];
}

/** Agents below their parents. An agent whose parent is unknown is a root; no agent appears twice. */
export function treeOf(agents: readonly Agent[]): Branch[] {
  const ids = new Set(agents.map((a) => a.id));
  const childrenOf = new Map<string, Agent[]>();
  for (const a of agents) {
    const parent = a.parent !== undefined && a.parent !== a.id && ids.has(a.parent) ? a.parent : "";
    childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), a]);
  }
  const placed = new Set<string>();
  const branch = (agent: Agent): Branch => {
    placed.add(agent.id);
    return { agent, children: (childrenOf.get(agent.id) ?? []).filter((a) => !placed.has(a.id)).map(branch) };
  };
  const top = (childrenOf.get("") ?? []).map(branch);
  // A cycle starts at any of its agents.
  const cycles = agents.flatMap((a) => (placed.has(a.id) ? [] : [branch(a)]));
  return [...top, ...cycles];
}
