import { AppWindow, ListTodo, type LucideIcon, Plug, Split, SquareTerminal } from "lucide-react";
import { useEffect, useState } from "react";
import { type Agent, type AgentID, type AgentKind, isStoreUnavailable, type MonitorID } from "../../../core/src/index.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useNow } from "../shell/clock.js";
import { useHubClock, useShell } from "../shell/context.js";
import { dock as texts } from "../texts/entry.js";
import { type AgentName, doingOf, isAsking, kindOfRole, nameOf, quietFor } from "./agents.js";

export const agentIcons: Record<AgentKind, LucideIcon> = { main: SquareTerminal, window: AppWindow, task: ListTodo, ephemeral: Split, client: Plug };

/** The displayed name of an agent. */
export function useAgentName(agent: Agent): string {
  const t = useTexts(texts);
  return useShell((s) => put(nameOf(agent, s.desktop), t.main, (title) => title, t));
}

/** The displayed name of the agent with a role, in the context of its monitor; undefined if the role is not an agent's. */
export function useRoleName(role: AgentID, monitorId: MonitorID): string | undefined {
  const t = useTexts(texts);
  const kind = kindOfRole(role);
  return useShell((s) =>
    kind === undefined ? undefined : put(nameOf({ kind, role, monitorId }, s.desktop), () => t.kindMain, t.ofWindow, t),
  );
}

function put(name: AgentName, main: (monitor: number) => string, window: (title: string) => string, t: Pick<typeof texts.en, "task" | "plan" | "ephemeral" | "client" | "ofClosed" | "untitled">): string {
  switch (name.kind) {
    case "main":
      return main(name.monitor);
    case "window":
      return name.title === undefined ? t.ofClosed : window(name.title || t.untitled);
    case "task":
      return t.task(name.number);
    case "plan":
      return name.task || t.plan;
    case "ephemeral":
      return t.ephemeral;
    case "client":
      return t.client(name.name);
  }
}

export function useKindName(kind: AgentKind): string {
  const t = useTexts(texts);
  return { main: t.kindMain, window: t.kindWindow, task: t.kindTask, ephemeral: t.kindEphemeral, client: t.kindClient }[kind];
}

export interface AgentState {
  /** The displayed activity. */
  doing: string;
  elapsed: string;
  /** The text to show if the agent has sent nothing for long. */
  quiet: string | undefined;
  /** Whether the state is outdated because the connection is down. */
  stale: boolean;
}

/** The activity of an agent, updated every second. While the connection is down, the last known state is shown. */
export function useAgentState(agent: Agent): AgentState {
  const t = useTexts(texts);
  const format = useFormat();
  const stale = useLinkDown();
  const downSince = useShell((s) => s.link.downSince);
  const clock = useNow(1000, !stale);
  const now = stale ? downSince : clock;
  const hubNow = useHubClock().at(now);
  const lastSign = useLastSign(agent.role);
  const asks = useShell((s) => isAsking(s.desktop, agent.role));
  const doing = doingOf(agent, asks);
  const working = useToolWords(doing.what === "tool" ? doing.tool : "");
  // While its store is unavailable, the hub sends nothing new, whatever the agent does.
  const storeless = useShell((s) => isStoreUnavailable(s.link));
  const quiet = stale || storeless || doing.what === "waiting" ? undefined : quietFor(lastSign, now);
  return {
    doing: doing.what === "tool" ? [working ?? t.working, doing.progress].filter((s) => s !== "").join(" · ") : t[doing.what],
    elapsed: format.elapsed(hubNow - (agent.startedAt ?? hubNow)),
    quiet: quiet === undefined ? undefined : t.quiet(format.elapsed(quiet)),
    stale,
  };
}

/** The work with a tool in words; undefined without a tool, and until the words have loaded. */
function useToolWords(tool: string): string | undefined {
  const language = useShell((s) => s.language);
  const [words, setWords] = useState<typeof import("../drawer/tool-words.js")>();
  useEffect(() => {
    if (tool !== "") void import("../drawer/tool-words.js").then(setWords, () => undefined);
  }, [tool]);
  return tool === "" ? undefined : words?.workingWith(tool, language);
}

/** The time of an agent's last event, rounded to seconds, so that not every delta renders the component. */
function useLastSign(role: AgentID): number {
  const [shownSince] = useState(() => Date.now());
  const sign = useShell((s) => Math.ceil((s.signs.get(role) ?? 0) / 1000) * 1000);
  return sign === 0 ? shownSince : sign;
}

/** Whether the connection has been down for longer than a moment. */
export function useLinkDown(): boolean {
  const since = useShell((s) => (s.link.phase === "live" ? 0 : s.link.downSince));
  const now = useNow(1000, since > 0);
  return since > 0 && now - since > 3000;
}
