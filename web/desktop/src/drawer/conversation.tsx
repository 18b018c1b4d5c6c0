import "./drawer.css";
import "./rows.css";
import "./folds.css";
import "../history/history.css";
import { ArrowDown, MessagesSquare, PanelRightClose, Search } from "lucide-react";
import { type KeyboardEvent, lazy, type ReactNode, type RefObject, Suspense, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import { ContextMeter } from "../history/context-meter.js";
import { EarlierRows, useEditAndRewind, useGoTo, useKeepPosition, useRewindNotices } from "../history/conversation-hooks.js";
import { FoundContext, MessageActionsContext, useOlderRows } from "../history/conversation-state.js";
import { useTexts } from "../i18n/use.js";
import { useShell } from "../shell/context.js";
import { useMonitor } from "../shell/select.js";
import { drawer as texts } from "../texts/drawer.js";
import { history as historyTexts } from "../texts/history.js";
import { IconButton } from "../ui/button.js";
import { onMac } from "../ui/keys.js";
import { AskCards } from "./ask-cards.js";
import { EntryRow } from "./entry-row.js";
import { useFollowing } from "./follow.js";
import { PlanEndRow } from "./plan-end-row.js";
import { StepGroupRow } from "./step-group-row.js";
import { useEntries, useGroupedEntries } from "./use-entries.js";
import { Announcer, WorkingAgents } from "./working-agents.js";

const RewindDialog = lazy(async () => ({ default: (await import("../history/rewind-dialog.js")).RewindDialog }));
const SearchBar = lazy(async () => ({ default: (await import("../history/search-bar.js")).SearchBar }));
const TaskPanel = lazy(async () => ({ default: (await import("../history/task-panel.js")).TaskPanel }));

type Page = "talk" | "tasks";

/** The messages and activity of the monitor that this tab shows, or of all monitors. */
export function Conversation({ onClose }: { onClose?: () => void }): ReactNode {
  const t = useTexts(texts);
  const th = useTexts(historyTexts);
  const monitor = useMonitor();
  const several = useShell((s) => s.desktop.monitors.size > 1);
  const [wantsAll, setWantsAll] = useState(false);
  const [page, setPage] = useState<Page>("talk");
  const [finding, setFinding] = useState(false);
  const typed = useRef("");
  const all = wantsAll && several;
  const shown = all ? undefined : monitor;
  const older = useOlderRows(shown);
  const entries = useEntries(older.rows, shown);
  const runs = useGroupedEntries(entries);
  const keys = useMemo(() => entries.filter((e) => e.kind !== "day").map((e) => e.key), [entries]);
  const { scroller, content, following, unread, jump, leave } = useFollowing(keys, shown ?? "");
  useOwnMessages(jump);
  useRewindNotices(shown);
  const { actions, rewinding, stopRewinding } = useEditAndRewind(monitor, older.rows, scroller);
  const { found, goTo } = useGoTo(scroller, leave);
  const keepPlace = useKeepPosition(scroller, older.rows);
  const ready = useShell((s) => s.ready);
  const empty = useShell((s) => s.desktop.agents.size === 0) && entries.length === 0;
  const id = useId();
  const pages: { id: Page; label: string }[] = [
    { id: "talk", label: t.title },
    { id: "tasks", label: th.tasks },
  ];
  const press = (e: KeyboardEvent): void => {
    if (e.key.toLowerCase() !== "f" || e.altKey || e.shiftKey || (onMac ? !e.metaKey || e.ctrlKey : !e.ctrlKey || e.metaKey)) return;
    e.preventDefault();
    setPage("talk");
    setFinding(true);
  };
  return (
    <section className="drawer-talk" aria-label={t.title} onKeyDown={press}>
      <header className="drawer-head">
        <div className="drawer-tabs" role="tablist" aria-label={th.tabs}>
          {pages.map((p) => (
            <button
              key={p.id}
              type="button"
              role="tab"
              id={`${id}-${p.id}`}
              aria-selected={page === p.id}
              aria-controls={`${id}-${p.id}-page`}
              tabIndex={page === p.id ? 0 : -1}
              onClick={() => setPage(p.id)}
              onKeyDown={(e) => {
                if (e.key !== "ArrowLeft" && e.key !== "ArrowRight") return;
                e.preventDefault();
                const other = page === "talk" ? "tasks" : "talk";
                setPage(other);
                document.getElementById(`${id}-${other}`)?.focus();
              }}
            >
              {p.label}
            </button>
          ))}
        </div>
        <IconButton
          icon={Search}
          label={th.find}
          aria-pressed={finding}
          onClick={() => {
            setPage("talk");
            setFinding(!finding || page !== "talk");
          }}
        />
        {onClose !== undefined && <IconButton icon={PanelRightClose} label={t.close} onClick={onClose} />}
      </header>
      <div className="drawer-tools">
        <ContextMeter monitor={monitor} />
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
      </div>
      <div id={`${id}-talk-page`} role="tabpanel" aria-labelledby={`${id}-talk`} className="drawer-page" hidden={page !== "talk"}>
        {finding && (
          <Suspense fallback={<SearchField typed={typed} onClose={() => setFinding(false)} />}>
            <SearchBar entries={entries} older={older} found={found} begin={typed} scroller={scroller} onFound={goTo} onClose={() => setFinding(false)} />
          </Suspense>
        )}
        <div className="drawer-scroll" ref={scroller} tabIndex={0} role="log" aria-live="off" aria-label={t.rows}>
          <div ref={content} className="drawer-rows">
            {!ready && <p className="drawer-note">{t.loading}</p>}
            {ready && empty && older.state === "none" && <Empty />}
            <EarlierRows older={older} scroller={scroller} keepPlace={keepPlace} />
            <MessageActionsContext value={actions}>
              <FoundContext value={found}>
                {runs.map((e) => {
                  if (e.kind === "steps") return <StepGroupRow key={e.key} run={e} named={all} />;
                  return e.kind === "plan" ? <PlanEndRow key={e.key} plan={e} named={all} /> : <EntryRow key={e.key} entry={e} named={all} />;
                })}
              </FoundContext>
            </MessageActionsContext>
            <WorkingAgents monitor={shown} />
            <AskCards monitor={shown} />
          </div>
        </div>
        {!following && (
          <button type="button" className="drawer-newest" onClick={jump}>
            <ArrowDown size={14} aria-hidden />
            {unread > 0 ? t.unread(unread) : t.newest}
          </button>
        )}
      </div>
      {page === "tasks" && (
        <div id={`${id}-tasks-page`} role="tabpanel" aria-labelledby={`${id}-tasks`} className="drawer-page">
          <Suspense fallback={<p className="drawer-note">{th.tasksLoading}</p>}>
            <TaskPanel
              monitor={shown}
              older={older}
              onShow={(ts) => {
                setPage("talk");
                goTo(ts);
              }}
            />
          </Suspense>
        </div>
      )}
      {rewinding !== undefined && (
        <Suspense>
          <RewindDialog key={rewinding.entry.ts} entry={rewinding.entry} back={rewinding.back} rows={older.rows} onClose={stopRewinding} />
        </Suspense>
      )}
      <Announcer monitor={shown} />
    </section>
  );
}

/** Accepts typing while the search is being loaded. */
function SearchField({ typed, onClose }: { typed: RefObject<string>; onClose: () => void }): ReactNode {
  const t = useTexts(historyTexts);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    typed.current = "";
    field.current!.focus();
  }, [typed]);
  return (
    <div className="history-search" role="search">
      <div className="history-search-line">
        <input
          ref={field}
          type="search"
          placeholder={t.find}
          aria-label={t.findIn}
          onChange={(e) => {
            typed.current = e.target.value;
          }}
          onKeyDown={(e) => {
            if (e.key === "Escape") onClose();
          }}
        />
      </div>
    </div>
  );
}

function Empty(): ReactNode {
  const t = useTexts(texts);
  return (
    <div className="drawer-empty">
      <MessagesSquare size={24} aria-hidden />
      <p>{t.empty}</p>
      <p>{t.emptyText}</p>
    </div>
  );
}

/** Scrolls to the end when this tab sends a message, where it is shown. */
function useOwnMessages(jump: () => void): void {
  const last = useShell((s) => s.outbox.items.findLast((i) => i.type === "USER_MESSAGE" || i.type === "EDIT_MESSAGE")?.id);
  const before = useRef(last);
  useEffect(() => {
    if (before.current !== last && last !== undefined) jump();
    before.current = last;
  }, [last, jump]);
}
