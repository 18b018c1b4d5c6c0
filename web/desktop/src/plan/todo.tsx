import { Ban, CircleCheck, CircleDashed, CircleHelp, CircleSlash, CircleX, Clock, Hourglass, LoaderCircle, type LucideIcon, ShieldQuestion, SkipForward } from "lucide-react";
import type { ReactNode } from "react";
import type { Todo, TodoStatus } from "../../../core/src/index.js";
import { escapeInvisible } from "../asks/invisible.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { plan as texts } from "../texts/plan.js";

const icons: Record<TodoStatus, LucideIcon> = {
  pending: CircleDashed,
  blocked: Ban,
  needs_approval: ShieldQuestion,
  needs_input: CircleHelp,
  in_progress: LoaderCircle,
  completed: CircleCheck,
  failed: CircleX,
  skipped: SkipForward,
  cancelled: CircleSlash,
};

export function useStatusText(): (t: Todo) => string {
  const t = useTexts(texts);
  return ({ status = "pending" }) => (status === "failed" ? t.todoFailed : status === "cancelled" ? t.todoCancelled : t[status]);
}

/** The status of a todo, as an icon and in words; the colour only repeats it. */
export function Status({ todo }: { todo: Todo }): ReactNode {
  const text = useStatusText();
  const retrying = awaitsRetry(todo);
  const Icon = retrying ? Clock : icons[todo.status ?? "pending"];
  return (
    <span className="plan-status">
      <Icon size={14} aria-hidden className={todo.status === "in_progress" ? "plan-turning" : undefined} />
      {text(todo)}
    </span>
  );
}

/** Whether a todo has failed and will be retried. */
export function awaitsRetry(t: Todo): boolean {
  return t.status === "pending" && !!t.retry_at && (t.retry_count ?? 0) > 0;
}

/** The number of the current or last attempt, and the maximum. */
export function attemptText(todo: Todo, t: typeof texts.en): string {
  const all = (todo.max_retries ?? 0) + 1;
  return t.triesOf(Math.min((todo.retry_count ?? 0) + 1, all), all);
}

/** The content of a todo's box. `now` is the hub's time. */
export function TodoBox({ todo, now }: { todo: Todo; now: number }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  return (
    <>
      <span className="plan-box-head">
        <Status todo={todo} />
        {awaitsRetry(todo) && (
          <span className="plan-box-note">
            <Hourglass size={12} aria-hidden />
            {todo.retry_at! > now ? t.again(format.elapsed(todo.retry_at! - now)) : t.againNow}
          </span>
        )}
        {todo.status === "in_progress" && !!todo.progress_percentage && <span className="plan-box-note">{t.percent(Math.floor(todo.progress_percentage))}</span>}
        {todo.status === "completed" && !!todo.duration_ms && <span className="plan-box-note">{format.elapsed(todo.duration_ms)}</span>}
      </span>
      <span className="plan-box-task">{escapeInvisible(todo.task)}</span>
      <span className="plan-box-foot">
        {todo.status === "in_progress" && todo.current_step ? escapeInvisible(todo.current_step) : (todo.tool ?? "")}
        {todo.requires_approval === true && (todo.status ?? "pending") === "pending" && <span>{t.asksFirst}</span>}
        {(todo.retry_count ?? 0) > 0 && <span>{`${t.tries} ${attemptText(todo, t)}`}</span>}
      </span>
      {todo.status === "in_progress" && <Bar part={(todo.progress_percentage ?? 0) / 100} known={!!todo.progress_percentage} />}
    </>
  );
}

/** A progress bar. If the progress is unknown, it only shows activity. */
export function Bar({ part, known = true, label }: { part: number; known?: boolean; label?: string }): ReactNode {
  const percent = Math.round(Math.min(1, Math.max(0, part)) * 100);
  const role = label === undefined ? { "aria-hidden": true } : { role: "progressbar", "aria-label": label, "aria-valuenow": percent, "aria-valuemin": 0, "aria-valuemax": 100 };
  return (
    <span className={known ? "plan-bar" : "plan-bar plan-bar-unknown"} {...role}>
      <span style={known ? { width: `${percent}%` } : undefined} />
    </span>
  );
}
