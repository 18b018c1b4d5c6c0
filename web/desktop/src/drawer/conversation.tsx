import "./drawer.css";
import "./rows.css";
import "./folds.css";
import { ArrowDown, MessagesSquare, PanelRightClose, WifiOff } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { useShallow } from "zustand/react/shallow";
import type { AgentID, MessageID, MonitorID, Say, WindowID } from "../../../core/src/index.js";
import { useLinkDown } from "../dock/agent-state.js";
import { workingAgents } from "../dock/agents.js";
import { useWords } from "../i18n/use.js";
import { useEvents, useShell } from "../shell/context.js";
import { useMonitor } from "../shell/select.js";
import { IconButton } from "../ui/button.js";
import { AgentRow } from "./agent-row.js";
import { AskCards } from "./ask-cards.js";
import { type Entry, entriesOf, isAboutMessages, notInRows, withDays } from "./entries.js";
import { EntryRow } from "./entry-row.js";
import { useFollowing } from "./follow.js";
import { RunRow } from "./run-row.js";
import { type RunEntry, withRuns } from "./runs.js";
import texts from "./words.js";

/** What was said on the monitor that this tab shows, or on all, and what is under way. */
export function Conversation({ onClose }: { onClose?: () => void }): ReactNode {
  const t = useWords(texts);
  const monitor = useMonitor();
  const several = useShell((s) => s.desk.monitors.size > 1);
  const [wantsAll, setWantsAll] = useState(false);
  const all = wantsAll && several;
  const shown = all ? undefined : monitor;
  const entries = useEntries(shown);
  const runs = useRuns(entries);
  const keys = useMemo(() => entries.filter((e) => e.kind !== "day").map((e) => e.key), [entries]);
  const { scroller, content, following, unread, jump } = useFollowing(keys, shown ?? "");
  useOwnWords(jump);
  const ready = useShell((s) => s.ready);
  const empty = useShell((s) => s.desk.agents.size === 0) && entries.length === 0;
  return (
    <section className="drawer-talk" aria-label={t.title}>
      <header className="drawer-head">
        <h2>{t.title}</h2>
        {several && (
          <div className="drawer-filter" role="group" aria-label={t.filter}>
            <button type="button" aria-pressed={!all} onClick={() => setWantsAll(false)}>
              {t.here}
            </button>
            <button type="button" aria-pressed={all} onClick={() => setWantsAll(true)}>
              {t.all}
            </button>
          </div>
        )}
        {onClose !== undefined && <IconButton icon={PanelRightClose} label={t.close} onClick={onClose} />}
      </header>
      <div className="drawer-scroll" ref={scroller} tabIndex={0} role="log" aria-live="off" aria-label={t.rows}>
        <div ref={content} className="drawer-rows">
          {!ready && <p className="drawer-note">{t.loading}</p>}
          {ready && empty && <Empty />}
          {runs.map((e) => (e.kind === "run" ? <RunRow key={e.key} run={e} named={all} /> : <EntryRow key={e.key} entry={e} named={all} />))}
          <Work monitor={shown} />
          <AskCards monitor={shown} />
        </div>
      </div>
      {!following && (
        <button type="button" className="drawer-newest" onClick={jump}>
          <ArrowDown size={14} aria-hidden />
          {unread > 0 ? t.unread(unread) : t.newest}
        </button>
      )}
      <Announcer monitor={shown} />
    </section>
  );
}

function Empty(): ReactNode {
  const t = useWords(texts);
  return (
    <div className="drawer-empty">
      <MessagesSquare size={24} aria-hidden />
      <p>{t.empty}</p>
      <p>{t.emptyText}</p>
    </div>
  );
}

function useEntries(monitor: MonitorID | undefined): Entry[] {
  const rows = useShell((s) => s.desk.rows);
  const queues = useShell((s) => s.desk.queues);
  const items = useShell(useShallow((s) => s.outbox.items.filter(isAboutMessages)));
  const working = useWindowsAtWork();
  return useMemo(
    () => withDays(entriesOf({ rows, queues }, items, monitor, working), dayOf),
    [rows, queues, items, monitor, working],
  );
}

/** The same with many steps as one. Agents change with every word they say, who works does not. */
function useRuns(entries: readonly Entry[]): (Entry | RunEntry)[] {
  const roles = useShell((s) => JSON.stringify(workingAgents(s.desk.agents).map((a) => a.role)));
  return useMemo(() => withRuns(entries, new Set(JSON.parse(roles) as AgentID[])), [entries, roles]);
}

/** The windows whose agents work on messages. Agents change with every word they say, this does not. */
function useWindowsAtWork(): ReadonlyMap<MessageID, WindowID> {
  const pairs = useShell((s) => {
    const busy = [...s.desk.agents.values()].filter((a) => a.windowId && a.messageId);
    return JSON.stringify(busy.map((a) => [a.messageId, a.windowId]));
  });
  return useMemo(() => new Map(JSON.parse(pairs) as [MessageID, WindowID][]), [pairs]);
}

function dayOf(ts: number): string {
  return new Date(ts).toDateString();
}

/** Goes to the end when this tab says something, to where it is shown. */
function useOwnWords(jump: () => void): void {
  const last = useShell((s) => s.outbox.items.findLast((i) => i.type === "USER_MESSAGE")?.id);
  const before = useRef(last);
  useEffect(() => {
    if (before.current !== last && last !== undefined) jump();
    before.current = last;
  }, [last, jump]);
}

/** The agents at work here. What they say changes often, so it is apart from the rows. */
function Work({ monitor }: { monitor: MonitorID | undefined }): ReactNode {
  const t = useWords(texts);
  const agents = useShell((s) => s.desk.agents);
  const rows = useShell((s) => s.desk.rows);
  const spent = useShell((s) => monitor !== undefined && s.desk.monitors.get(monitor)?.state === "over_budget");
  const down = useLinkDown();
  const working = useMemo(
    () => workingAgents(agents).filter((a) => monitor === undefined || a.monitorId === monitor),
    [agents, monitor],
  );
  return (
    <>
      {spent && <p className="drawer-note">{t.overBudget}</p>}
      {down && working.length > 0 && (
        <p className="drawer-note">
          <WifiOff size={14} aria-hidden /> {t.offline}
        </p>
      )}
      {working.map((a) => {
        const its = [...rows.values()].map(({ row }) => row).filter((row) => row.agentId === a.role);
        const shown = (say: Say): string[] => its.filter((row) => row.say === say).map((row) => row.text ?? "");
        return <AgentRow key={a.role} agent={a} thinking={notInRows(a.thinking, shown("reasoning"))} text={notInRows(a.text, shown("text"))} />;
      })}
    </>
  );
}

/** Says final answers to those who hear the page, and nothing else. */
function Announcer({ monitor }: { monitor: MonitorID | undefined }): ReactNode {
  const [text, setText] = useState("");
  useEvents((event, replayed) => {
    if (replayed || event.type !== "messageUpdated") return;
    const row = event.data.message;
    const here = monitor === undefined || (row.monitorId || event.data.monitorId) === monitor;
    if (here && row.say === "text" && row.partial !== true && row.text) setText(row.text);
  });
  return (
    <div className="hidden-text" aria-live="polite">
      {text}
    </div>
  );
}
