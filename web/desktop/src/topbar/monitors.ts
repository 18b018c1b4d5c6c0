// The display of a monitor's tab.

import type { Agent, Budget, MonitorID, MonitorStatus } from "../../../core/src/index.js";

export type Activity = "idle" | "working" | "waiting" | "overBudget";

/** The activity of a monitor. The state of agents is newer than that of the monitor. */
export function activityOf(m: MonitorStatus, working: ReadonlySet<MonitorID>): Activity {
  if (m.state === "over_budget" || m.budget?.denied !== undefined) return "overBudget";
  if (working.has(m.monitorId) || m.state === "running") return "working";
  return m.state === "waiting" || m.queue > 0 ? "waiting" : "idle";
}

/** The monitors with working agents. */
export function workingMonitors(agents: Iterable<Agent>): Set<MonitorID> {
  const found = new Set<MonitorID>();
  for (const a of agents) if (a.status !== "idle" && a.monitorId !== undefined) found.add(a.monitorId);
  return found;
}

/**
 * The most used part of a budget, from 0 to 1. The limit of turns applies to all background monitors together, so it is
 * left out.
 */
export function budgetPart(b: Budget): number {
  if (b.denied !== undefined) return 1;
  return Math.min(1, Math.max(share(b.actions, b.actionsLimit), share(b.output, b.outputLimit)));
}

export function budgetTone(b: Budget): "accent" | "warning" | "danger" {
  if (b.denied !== undefined) return "danger";
  return budgetPart(b) >= 0.8 ? "warning" : "accent";
}

function share(used: number, limit: number): number {
  return limit > 0 ? used / limit : 0;
}

/** The tab that a navigation key leads to; undefined for other keys. */
export function tabAfter<T>(all: readonly T[], at: T, key: string): T | undefined {
  const i = all.indexOf(at);
  switch (key) {
    case "ArrowRight":
      return all[(i + 1) % all.length];
    case "ArrowLeft":
      return all[(i - 1 + all.length) % all.length];
    case "Home":
      return all[0];
    case "End":
      return all.at(-1);
  }
  return undefined;
}

/** The display name of a provider. */
export function providerName(provider: string): string {
  const names: Record<string, string> = { demo: "Demo", anthropic: "Anthropic", openai: "OpenAI", ollama: "Ollama" };
  return names[provider] ?? provider;
}
