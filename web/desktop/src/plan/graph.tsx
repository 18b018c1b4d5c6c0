import { type KeyboardEvent, type ReactNode, useId, useMemo, useRef, useState } from "react";
import type { Todo, TodoID } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { usePhone } from "../shell/viewport.js";
import { plan as texts } from "../texts/plan.js";
import { box, layoutOf, type Step, stepFrom } from "./layout.js";
import { TodoBox } from "./todo.js";

interface GraphProps {
  todos: readonly Todo[];
  /** The todo whose details are shown. */
  chosen: TodoID | undefined;
  onChoose: (id: TodoID) => void;
  /** The hub's time. */
  now: number;
  /** Whether to show a list, because there is no room for a graph. */
  list?: boolean;
}

const steps: Record<string, Step> = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right", Home: "first", End: "last" };

/** The todos with their dependencies: as boxes and lines if there is room, else as a list. */
export function Graph({ todos, chosen, onChoose, now, list: narrow = false }: GraphProps): ReactNode {
  const t = useTexts(texts);
  const phone = usePhone() || narrow;
  const hintId = useId();
  const list = useRef<HTMLOListElement>(null);
  // The status and progress of todos change every second; the layout does not depend on them.
  const shape = todos.map((todo) => `${todo.id}<${todo.depends_on.join(",")}`).join(" ");
  const layout = useMemo(() => layoutOf(todos), [shape]);
  const [focused, setFocused] = useState<TodoID>();
  const reachable = layout.places.has(focused ?? "") ? focused : (chosen ?? todos[0]?.id);
  const byPlace = useMemo(() => {
    const place = (id: TodoID): number => (layout.places.get(id)?.row ?? 0) * 1000 + (layout.places.get(id)?.column ?? 0);
    return [...todos].sort((a, b) => place(a.id) - place(b.id));
  }, [todos, layout]);
  const names = new Map(todos.map((todo) => [todo.id, todo.task]));

  const press = (e: KeyboardEvent, id: TodoID): void => {
    const step = steps[e.key];
    if (step === undefined || e.altKey || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    const at = byPlace.findIndex((todo) => todo.id === id);
    const inList = { up: at - 1, left: at - 1, down: at + 1, right: at + 1, first: 0, last: byPlace.length - 1 }[step];
    const to = phone ? (byPlace[inList]?.id ?? id) : stepFrom(layout, id, step);
    list.current?.querySelector<HTMLElement>(`[data-todo="${CSS.escape(to)}"]`)?.focus();
  };
  return (
    <div className={phone ? "plan-graph plan-graph-list" : "plan-graph"}>
      <p className="hidden-text" id={hintId}>
        {t.walk}
      </p>
      <div className="plan-paper" style={phone ? undefined : { width: layout.width, height: layout.height }}>
      {!phone && (
        <svg className="plan-lines" width={layout.width} height={layout.height} aria-hidden>
          {layout.lines.map((l) => (
            <path key={`${l.from} ${l.to}`} d={l.path} className={chosen === l.from || chosen === l.to ? "plan-line-chosen" : undefined} />
          ))}
        </svg>
      )}
      <ol ref={list} aria-label={t.todos} aria-describedby={hintId}>
        {byPlace.map((todo) => {
          const place = layout.places.get(todo.id);
          const needs = todo.depends_on.map((d) => names.get(d) ?? d);
          return (
            <li key={todo.id} style={phone || place === undefined ? undefined : { left: place.x, top: place.y, width: box.width, height: box.height }}>
              <button
                type="button"
                className="plan-box"
                data-todo={todo.id}
                data-status={todo.status ?? "pending"}
                aria-pressed={chosen === todo.id}
                tabIndex={todo.id === reachable ? 0 : -1}
                onFocus={() => setFocused(todo.id)}
                onKeyDown={(e) => press(e, todo.id)}
                onClick={() => onChoose(todo.id)}
              >
                <TodoBox todo={todo} now={now} />
                {needs.length > 0 && <span className={phone ? "plan-box-after" : "hidden-text"}>{t.after(needs.join(", "))}</span>}
              </button>
            </li>
          );
        })}
      </ol>
      </div>
    </div>
  );
}
