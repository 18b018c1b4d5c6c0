import { ChevronDown, ChevronUp, Circle, CircleCheck, CircleDashed, Move, RotateCw, X } from "lucide-react";
import { type PointerEvent, type ReactNode, type RefObject, useCallback, useLayoutEffect, useRef, useState } from "react";
import { firstMonitor, type WindowState, windowKey } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { useHasAccount, useMonitor, useMonitors, useWindows } from "../shell/select.js";
import { tour as texts } from "../texts/tour.js";
import { IconButton } from "../ui/button.js";
import { type AgentStep, agentSteps, avoidWindows, type Mark, markOf, nearestCorner, nextCorner, offeredSteps, type Progress, type Step, type Surroundings, type UserStep, withDone } from "./steps.js";
import { type Plug, useCanPlug, usePlug } from "./use-plug.js";

interface ChecklistProps {
  progress: Progress;
  change: (how: (p: Progress) => Progress) => void;
  onShow: (step: AgentStep) => void;
}

/** The tour as a small checklist in a corner, which can be dragged to another corner. */
export function Checklist({ progress, change, onShow }: ChecklistProps): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const outbox = useShell((s) => s.outbox.items);
  const drag = useDrag((x, y, width, height) => change((p) => ({ ...p, corner: nearestCorner(x, y, width, height), put: true })));
  const root = useAvoidWindows(change);
  const offered = offeredSteps(useCanPlug());
  const plug = usePlug(useCallback(() => change((p) => withDone(p, ["plug"])), [change]));
  const all: Step[] = [...agentSteps, ...offered];
  const marks = new Map(all.map((s) => [s, s === "plug" ? plugMark(plug, markOf(s, progress, outbox)) : markOf(s, progress, outbox)]));
  const done = all.filter((s) => marks.get(s) === "done");
  const next = all.find((s) => marks.get(s) === "open");
  // While collapsed, it still shows the current or the next step.
  const now = all.find((s) => marks.get(s) === "going" || marks.get(s) === "failed") ?? next;
  const shown = (s: Step): boolean => !progress.folded || s === now;
  return (
    <section ref={root} className={`tour-list ${progress.tucked ? "tour-tucked" : `tour-${progress.corner}`}`} aria-label={t.tour} data-done={done.join(" ")} style={drag.style}>
      <header className="tour-head" {...drag.handlers}>
        <strong>{t.tour}</strong>
        <span className="tour-count">{t.progress(done.length, all.length)}</span>
        {!progress.tucked && <IconButton icon={Move} size={14} label={t.move} onClick={() => change((p) => ({ ...p, corner: nextCorner(p.corner), put: true }))} />}
        <IconButton
          icon={progress.folded ? ChevronUp : ChevronDown}
          size={14}
          label={progress.folded ? t.unfold : t.fold}
          onClick={() => change((p) => ({ ...p, folded: !p.folded, tucked: false }))}
        />
        <IconButton icon={X} size={14} label={t.close} onClick={() => commands.showTour(false)} />
      </header>
      <div className="tour-bar" aria-hidden>
        <span style={{ inlineSize: `${(done.length / all.length) * 100}%` }} />
      </div>
      <ul>
        {agentSteps.filter(shown).map((s) => (
          <StepItem key={s} step={s} next={s === next && !progress.folded} mark={marks.get(s)!} onClick={() => onShow(s)} />
        ))}
        {!progress.folded && <li className="tour-gap" aria-hidden />}
        {offered.filter(shown).map((s) => (
          <UserStepItem key={s} step={s} plug={plug} next={s === next && !progress.folded} mark={marks.get(s)!} onDone={() => change((p) => withDone(p, [s]))} />
        ))}
      </ul>
    </section>
  );
}

/** Moves the list away from windows that open while it is shown, and back when they close. */
function useAvoidWindows(change: (how: (p: Progress) => Progress) => void): RefObject<HTMLElement | null> {
  const root = useRef<HTMLElement>(null);
  const windows = useWindows(useMonitor());
  const known = useRef(new Set(windows.map(keyOf)));
  useLayoutEffect(() => {
    const keys = new Set(windows.map(keyOf));
    const changed = keys.size !== known.current.size || [...keys].some((k) => !known.current.has(k));
    known.current = keys;
    if (changed) change((p) => avoidWindows(p, surroundings(root.current!)));
  }, [windows, change]);
  return root;
}

function keyOf(w: WindowState): string {
  return windowKey(w.monitorId, w.windowId);
}

/** The height of the header and one step, in px. */
const foldedHeight = 76;

function surroundings(list: HTMLElement): Surroundings {
  const canvas = list.closest("main")!;
  const { left, top } = canvas.getBoundingClientRect();
  const boxes = [...canvas.querySelectorAll("[data-window-id]:not([data-hidden])")].map((w) => w.getBoundingClientRect());
  return {
    list: { w: list.offsetWidth, h: list.offsetHeight },
    folded: { w: list.offsetWidth, h: foldedHeight },
    canvas: { w: canvas.clientWidth, h: canvas.clientHeight },
    windows: boxes.map((b) => ({ x: b.left - left, y: b.top - top, w: b.width, h: b.height })),
  };
}

/** A step that the user does. */
function UserStepItem({ step, plug, onDone, ...rest }: { step: UserStep; plug: Plug; next: boolean; mark: Mark; onDone: () => void }): ReactNode {
  const commands = useCommands();
  const monitors = useMonitors();
  const hasAccount = useHasAccount();
  switch (step) {
    case "plug":
      return <StepItem step={step} {...rest} note={plug.note} onClick={plug.start} />;
    case "secondTab":
      return <StepItem step={step} {...rest} onClick={() => window.open(commands.addressOf(), "_blank", "noopener")} />;
    case "ownTab":
      return (
        <StepItem
          step={step}
          {...rest}
          onClick={() => {
            commands.detachMonitor(monitors.findLast((m) => m.monitorId !== firstMonitor)?.monitorId ?? firstMonitor);
            onDone();
          }}
        />
      );
    case "restart":
      return <StepItem step={step} {...rest} />;
    case "model":
      return hasAccount ? <StepItem step={step} {...rest} onClick={() => commands.openPanel("connect")} /> : null;
  }
}

/** The state of the step that kills the hub: its run in this tab, if there is one. */
function plugMark({ phase }: Plug, otherwise: Mark): Mark {
  if (phase === undefined || phase === "done") return otherwise;
  return phase === "failed" ? "failed" : "going";
}

/** A step. Only the next step, and one with a note about its progress, is explained, so that the list stays small. */
function StepItem({ step, next, mark, note, onClick }: { step: Step; next: boolean; mark: Mark; note?: string | undefined; onClick?: () => void }): ReactNode {
  const t = useTexts(texts);
  const inside = (
    <>
      <MarkIcon mark={mark} />
      <span className="tour-step-text">
        <span>{t[step]}</span>
        {(next || mark === "failed" || note !== undefined) && <small>{mark === "failed" ? t.failed : (note ?? t[`${step}Hint`])}</small>}
      </span>
      {mark !== "open" && mark !== "failed" && <span className="hidden-text">{t[mark]}</span>}
    </>
  );
  return (
    <li data-step={step} data-mark={mark}>
      {onClick === undefined ? (
        <div className="tour-step" title={t[`${step}Hint`]}>{inside}</div>
      ) : (
        <button type="button" className="tour-step" title={t[`${step}Hint`]} disabled={mark === "going"} onClick={onClick}>
          {inside}
        </button>
      )}
    </li>
  );
}

function MarkIcon({ mark }: { mark: Mark }): ReactNode {
  const props = { size: 16, "aria-hidden": true, className: `tour-mark tour-mark-${mark}` } as const;
  if (mark === "done") return <CircleCheck {...props} />;
  if (mark === "going") return <CircleDashed {...props} />;
  return mark === "failed" ? <RotateCw {...props} /> : <Circle {...props} />;
}

/** Drags an element; onDrop gets the position of the pointer within its container. */
function useDrag(onDrop: (x: number, y: number, width: number, height: number) => void): {
  style: { transform?: string };
  handlers: Record<"onPointerDown" | "onPointerMove" | "onPointerUp" | "onPointerCancel", (e: PointerEvent<HTMLElement>) => void>;
} {
  const [offset, setOffset] = useState<{ x: number; y: number }>();
  const from = useRef<{ x: number; y: number }>(undefined);
  const end = (): void => {
    from.current = undefined;
    setOffset(undefined);
  };
  return {
    style: offset === undefined ? {} : { transform: `translate(${offset.x}px, ${offset.y}px)` },
    handlers: {
      onPointerDown: (e) => {
        if (e.button !== 0 || (e.target as Element).closest("button") !== null) return;
        e.currentTarget.setPointerCapture(e.pointerId);
        from.current = { x: e.clientX, y: e.clientY };
      },
      onPointerMove: (e) => {
        if (from.current !== undefined) setOffset({ x: e.clientX - from.current.x, y: e.clientY - from.current.y });
      },
      onPointerUp: (e) => {
        if (from.current === undefined) return;
        const container = e.currentTarget.closest("main")?.getBoundingClientRect();
        if (container !== undefined && offset !== undefined) onDrop(e.clientX - container.left, e.clientY - container.top, container.width, container.height);
        end();
      },
      onPointerCancel: end,
    },
  };
}
