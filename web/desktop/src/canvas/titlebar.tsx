import { Copy, GripHorizontal, Lock, Minus, Square, X } from "lucide-react";
import { type KeyboardEvent, type PointerEvent, type ReactNode, useId } from "react";
import { type AgentID, isStandard, type MonitorID, type WindowState } from "../../../core/src/index.js";
import { useRoleName } from "../dock/agent-state.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { canvas as texts } from "../texts/entry.js";
import { IconButton } from "../ui/button.js";
import { isComposing } from "../ui/keys.js";
import { onceReleased } from "../ui/menu.js";
import { WindowIcon } from "./body.js";
import { useWindowManager } from "./context.js";
import { keyStep } from "./geometry.js";

interface TitleBarProps {
  window: WindowState;
  titleId: string;
  maximized: boolean;
  onGrab: (e: PointerEvent<HTMLElement>) => void;
  onClose: () => void;
  /** Opens the menu at a point of the page. */
  onMenu: (x: number, y: number) => void;
}

/** The title bar of a window. Those of widgets, panels and frameless windows float over the content. */
export function TitleBar({ window: w, titleId, maximized, onGrab, onClose, onMenu }: TitleBarProps): ReactNode {
  const t = useTexts(texts);
  const manager = useWindowManager();
  const hint = useId();
  const standard = isStandard(w);
  const title = w.title || t.untitled;

  const openMenu = (at: HTMLElement): void => {
    const { left, bottom } = at.getBoundingClientRect();
    onMenu(left, bottom);
  };
  const onKeyDown = (e: KeyboardEvent<HTMLElement>): void => {
    if (isComposing(e) || e.target !== e.currentTarget || e.altKey || e.metaKey) return;
    const step = keyStep(e);
    if (step !== undefined) manager.nudge(w, step.dx, step.dy, e.shiftKey ? "resize" : "move");
    else if (e.key === "ContextMenu" || (e.key === "F10" && e.shiftKey)) openMenu(e.currentTarget);
    else return;
    e.preventDefault();
  };
  return (
    <div
      className="win-bar"
      data-title-bar
      role="group"
      tabIndex={0}
      aria-labelledby={titleId}
      aria-describedby={hint}
      aria-keyshortcuts="ArrowLeft ArrowRight ArrowUp ArrowDown Shift+F10"
      onPointerDown={(e) => {
        if (!(e.target as Element).closest("button")) onGrab(e);
      }}
      onMouseDown={(e) => {
        if ((e.target as Element).closest("button")) return;
        e.preventDefault(); // prevents text selection, which makes the browser check every movement
        e.currentTarget.focus({ preventScroll: true });
      }}
      onDoubleClick={(e) => {
        if (!(e.target as Element).closest("button")) manager.toggleMaximized(w);
      }}
      onContextMenu={(e) => {
        e.preventDefault();
        const { clientX, clientY } = e;
        onceReleased(e, () => onMenu(clientX, clientY));
      }}
      onKeyDown={onKeyDown}
    >
      <button
        type="button"
        className="win-kind"
        aria-label={t.menu(title)}
        title={t.menu(title)}
        aria-haspopup="menu"
        onClick={(e) => openMenu(e.currentTarget)}
      >
        {w.frameless === true ? <GripHorizontal size={14} aria-hidden /> : <WindowIcon window={w} />}
      </button>
      <span className="win-title" id={titleId} title={title}>
        {title}
      </span>
      <Busy window={w} />
      {w.lock !== undefined && w.lock !== "" && <LockBadge lock={w.lock} monitor={w.monitorId} />}
      <span id={hint} className="hidden-text">
        {t.moveHint}
      </span>
      <span className="win-buttons">
        {standard && w.frameless !== true && <MinimizeButton window={w} />}
        {standard && w.frameless !== true && (
          <IconButton icon={maximized ? Copy : Square} size={12} label={maximized ? t.restore : t.maximize} onClick={() => manager.toggleMaximized(w)} />
        )}
        <IconButton icon={X} size={15} label={t.close} className="win-close" onClick={onClose} />
      </span>
    </div>
  );
}

function MinimizeButton({ window: w }: { window: WindowState }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const manager = useWindowManager();
  return <IconButton icon={Minus} size={14} label={t.minimize} onClick={() => (manager.live ? commands.toggleMinimized(w) : commands.notify(t.needsLink, "warning"))} />;
}

/** The agent that has locked the window. The badge pulses while that agent works. */
function LockBadge({ lock, monitor }: { lock: AgentID; monitor: MonitorID }): ReactNode {
  const t = useTexts(texts);
  const working = useShell((s) => (s.desktop.agents.get(lock)?.status ?? "idle") !== "idle");
  const name = useRoleName(lock, monitor) ?? lock;
  return (
    <span className="win-lock" data-working={working || undefined} title={working ? t.lockedWorking(name) : t.locked(name)}>
      <Lock size={11} aria-hidden />
      <span aria-hidden>{name}</span>
      <span className="hidden-text">{working ? t.lockedWorking(name) : t.locked(name)}</span>
    </span>
  );
}

/** A mark while the agent of the window, or of its group, works. */
function Busy({ window: w }: { window: WindowState }): ReactNode {
  const t = useTexts(texts);
  const busy = useShell((s) => {
    for (const a of s.desktop.agents.values()) {
      const here = a.kind === "window" && (a.monitorId ?? w.monitorId) === w.monitorId;
      if (here && a.status !== "idle" && (a.windowId === w.windowId || (w.groupId !== undefined && a.windowId === w.groupId))) return true;
    }
    return false;
  });
  return busy ? (
    <span className="win-busy" title={t.busy}>
      <span className="hidden-text">{t.busy}</span>
    </span>
  ) : null;
}
