import { CircleAlert, CircleCheck, CircleSlash, Hourglass, ListTree, LoaderCircle, type LucideIcon } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type DesktopState, firstMonitor, type HubEvent, type MonitorID } from "../../../core/src/index.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useCommands, useEvents, useShell } from "../shell/context.js";
import { history as texts } from "../texts/history.js";
import { Button } from "../ui/button.js";
import type { OlderRows } from "./conversation-state.js";
import { durationsOf, flatten, itemsOf, stateOf, type TaskItem, type TaskNode, type TaskState, treeOf, turnKey } from "./tasks.js";

interface Props {
  monitor: MonitorID | undefined;
  older: OlderRows;
  onShow: (ts: number) => void;
}

const states: readonly TaskState[] = ["active", "delegated", "completed", "failed", "interrupted"];

const icons: Record<TaskState, LucideIcon> = {
  active: LoaderCircle,
  delegated: Hourglass,
  completed: CircleCheck,
  failed: CircleAlert,
  interrupted: CircleSlash,
};

/** The tasks of a session as a tree, with their costs. */
export function TaskPanel({ monitor, older, onShow }: Props): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [query, setQuery] = useState("");
  const [status, setStatus] = useState<TaskState | "">("");
  const { tasks, failed, again } = useTasks(monitor, query);
  const shown = useMemo(() => flatten(treeOf(status === "" ? tasks ?? [] : (tasks ?? []).filter((i) => stateOf(i) === status))), [tasks, status]);
  const durations = useMemo(() => durationsOf(older.rows), [older.rows]);
  // `show` waits for older rows, and must then see the rows of the newest render.
  const latest = useRef(older);
  latest.current = older;
  const show = async (item: TaskItem): Promise<void> => {
    let ts = rowOf(latest.current.rows, item);
    while (ts === undefined && latest.current.state === "more" && (await latest.current.load())) {
      ts = rowOf(latest.current.rows, item);
    }
    ts ??= rowOf(latest.current.rows, item);
    if (ts === undefined) commands.notify(t.notThere, "warning");
    else onShow(ts);
  };
  const names: Record<TaskState, string> = { active: t.active, delegated: t.delegated, completed: t.completed, failed: t.taskFailed, interrupted: t.interrupted };
  return (
    <div className="history-tasks">
      <div className="history-task-search">
        <input type="search" value={query} placeholder={t.taskSearch} aria-label={t.taskSearch} onChange={(e) => setQuery(e.target.value)} />
        <select value={status} aria-label={t.taskStatus} onChange={(e) => setStatus(e.target.value as TaskState | "")}>
          <option value="">{t.anyStatus}</option>
          {states.map((s) => (
            <option key={s} value={s}>
              {names[s]}
            </option>
          ))}
        </select>
      </div>
      {failed && (
        <p className="drawer-note" role="alert">
          {t.tasksFailed}{" "}
          <Button size="sm" onClick={again}>
            {t.retry}
          </Button>
        </p>
      )}
      {tasks === undefined && !failed && <p className="drawer-note">{t.tasksLoading}</p>}
      {tasks !== undefined && shown.length === 0 && (
        <div className="drawer-empty">
          <ListTree size={24} aria-hidden />
          <p>{query.trim() !== "" || status !== "" ? t.noTasksFound : t.noTasks}</p>
        </div>
      )}
      <ul className="history-task-list" aria-label={t.taskList}>
        {shown.map((n) => (
          <TaskRow key={n.item.id} node={n} name={names[stateOf(n.item)]} ms={durations.get(turnKey(n.item)) ?? 0} onShow={() => void show(n.item)} />
        ))}
      </ul>
    </div>
  );
}

interface TaskRowProps {
  node: TaskNode;
  name: string;
  /** How long it took, in ms; 0 if unknown. */
  ms: number;
  onShow: () => void;
}

function TaskRow({ node: { item, depth, children }, name, ms, onShow }: TaskRowProps): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const state = stateOf(item);
  const Icon = icons[state];
  const { own, total, unknown } = item.costs;
  const cost = format.cost(total, unknown);
  const parts = [
    name,
    ...(ms > 0 ? [ms < 1000 ? `${Math.round(ms)} ms` : format.elapsed(ms)] : []),
    ...(item.tokensIn + item.tokensOut > 0 ? [t.tokens(format.number(item.tokensIn), format.number(item.tokensOut))] : []),
  ];
  return (
    <li>
      <button type="button" className="history-task" data-task={item.id} data-state={state} style={{ paddingInlineStart: 12 + Math.min(depth, 6) * 16 }} title={t.goToTask} onClick={onShow}>
        <Icon size={14} aria-hidden className={state === "active" ? "drawer-turning" : undefined} />
        <span className="history-task-text">
          <b>{item.task.trim() || t.unnamedTask}</b>
          <span>{parts.join(" · ")}</span>
        </span>
        <span className="history-task-end">
          <time dateTime={new Date(item.ts).toISOString()}>{format.time(item.ts)}</time>
          {cost !== "" && <span title={children.length > 0 ? t.costOwn(format.usd(own), format.usd(total)) : undefined}>{cost}</span>}
          {total > 0 && children.length > 0 && <span className="hidden-text">{t.costOwn(format.usd(own), format.usd(total))}</span>}
        </span>
      </button>
    </li>
  );
}

/** The row to show for a task: its message, or for a subtask the first row of its agent. */
function rowOf(rows: DesktopState["rows"], item: TaskItem): number | undefined {
  const all = [...rows.values()].map((r) => r.row).filter((r) => item.monitorId === undefined || (r.monitorId || firstMonitor) === item.monitorId);
  all.sort((a, b) => a.ts - b.ts);
  const isChild = (item.parentTaskId ?? "") !== "";
  const own = isChild ? all.find((r) => item.agentId !== undefined && r.agentId === item.agentId) : undefined;
  return (own ?? all.find((r) => item.messageId !== undefined && r.messageId === item.messageId && r.say === "user_feedback"))?.ts;
}

/** The delay between a change, of the query or of a task, and the request, in ms. */
const refreshDelay = 250;

const taskEvents = new Set<HubEvent["type"]>(["taskCreated", "taskStarted", "taskCompleted", "taskAborted", "taskSpawned", "taskTokenUsageUpdated", "TURN_INTERRUPTED", "HISTORY_REWOUND", "session_state"]);

function isTaskEvent(e: HubEvent): boolean {
  return taskEvents.has(e.type) || (e.type === "AGENT_RESPONSE" && e.data.isComplete === true);
}

/** The tasks, requested again after events about tasks. */
function useTasks(monitor: MonitorID | undefined, query: string): { tasks: readonly TaskItem[] | undefined; failed: boolean; again: () => void } {
  const commands = useCommands();
  const session = useShell((s) => s.session);
  const [tasks, setTasks] = useState<readonly TaskItem[]>();
  const [failed, setFailed] = useState(false);
  const [round, setRound] = useState(0);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const again = useCallback(() => setRound((n) => n + 1), []);
  useEvents((e) => {
    if (!isTaskEvent(e) || timer.current !== undefined) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      again();
    }, refreshDelay);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  const first = useRef(true);
  useEffect(() => {
    let cancelled = false;
    const load = async (): Promise<void> => {
      try {
        const list = itemsOf((await commands.api.tasks(session, { monitor, q: query.trim().normalize("NFC") || undefined, limit: 500 })).tasks);
        if (cancelled) return;
        setTasks(list);
        setFailed(false);
      } catch {
        if (!cancelled) setFailed(true);
      }
    };
    const wait = setTimeout(() => void load(), first.current ? 0 : refreshDelay);
    first.current = false;
    return () => {
      cancelled = true;
      clearTimeout(wait);
    };
  }, [commands, session, monitor, query, round]);
  return { tasks, failed, again };
}
