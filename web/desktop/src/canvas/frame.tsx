import { type CSSProperties, lazy, memo, type PointerEvent, type ReactNode, Suspense, useContext, useEffect, useId, useMemo, useRef, useState } from "react";
import { type Bounds, isStandard, type WindowState } from "../../../core/src/index.js";
import { WindowMessageForm } from "../lazy-parts.js";
import { ShellContext } from "../shell/context.js";
import { WindowBody } from "./body.js";
import { useCanvasState, useWindowManager } from "./context.js";
import { startDrag, transformOf } from "./drag.js";
import { type Edge, edges, panelBounds, type Size } from "./geometry.js";
import type { Scale } from "./layout.js";
import { safeStyle } from "./look.js";
import type { WindowManager } from "./manager.js";
import { type Place, placeOf } from "./pending-placement.js";
import { aboveWindows, keyOf } from "./stack.js";
import { TitleBar } from "./titlebar.js";

const WindowMenu = lazy(() => import("./menu.js"));
const TextEditor = lazy(() => import("./editor.js"));
const Versions = lazy(() => import("./versions.js"));

interface FrameProps {
  window: WindowState;
  /** Whether the window's monitor is shown. */
  shown: boolean;
  /** Whether it is the window in front. */
  front: boolean;
  canvas: Size;
  area: Bounds;
  /** The scale of windows that agents placed. */
  scale: Scale;
  panels: readonly WindowState[];
}

/** How long a window looks closing after the close was sent, in ms. */
const closingTime = 3000;

export const Frame = memo(function Frame({ window: w, shown, front, canvas, area, scale, panels }: FrameProps): ReactNode {
  const manager = useWindowManager();
  const services = useContext(ShellContext)!;
  const slot = useCanvasState((b) => b.overview?.get(keyOf(w)));
  const key = keyOf(w);
  const pending = useCanvasState((b) => b.pendings.get(key)?.place);
  const raised = useCanvasState((b) => b.raised === key);
  const [menu, setMenu] = useState<{ x: number; y: number } | undefined>();
  const [asking, setAsking] = useState(false);
  const [editing, setEditing] = useState(() => isBlankNote(w));
  const [versions, setVersions] = useState(false);
  const onTop = useCanvasState((b) => b.onTop.has(key));
  const [closing, setClosing] = useState(false);
  const frame = useRef<HTMLElement>(null);
  const titleId = useId();
  const look = useMemo(() => safeStyle(w.windowStyle), [w.windowStyle]);

  useEffect(() => {
    if (!closing) return;
    const timer = setTimeout(() => setClosing(false), closingTime);
    return () => clearTimeout(timer);
  }, [closing]);

  const place = pending ?? placeOf(w);
  const maximized = place.maximized && isStandard(w);
  const hidden = !shown || (w.minimized === true && slot === undefined);
  const box = boxOf(manager, w, place, canvas, area, scale, panels);
  const toTitleBar = (): void => frame.current?.querySelector<HTMLElement>("[data-title-bar]")?.focus({ preventScroll: true });
  const close = (): void => {
    setClosing(true);
    manager.close([w]);
    void import("./windows-actions.js").then(({ announceClosed }) => announceClosed([w], manager, services));
  };
  const grab = (e: PointerEvent<HTMLElement>, edge?: Edge): void => {
    if (frame.current !== null && (w.variant !== "panel" || edge !== undefined)) startDrag(manager, frame.current, w, e.nativeEvent, edge);
  };
  return (
    <section
      ref={frame}
      className="win"
      role="dialog"
      aria-modal="false"
      aria-labelledby={titleId}
      tabIndex={-1}
      inert={hidden || slot !== undefined}
      data-window-id={w.windowId}
      data-monitor-id={w.monitorId}
      data-variant={w.variant ?? "standard"}
      data-frameless={w.frameless || undefined}
      data-edge={w.variant === "panel" ? (w.dockEdge ?? "bottom") : undefined}
      data-focused={front || undefined}
      data-maximized={maximized || undefined}
      data-hidden={hidden || undefined}
      data-away={!shown || undefined}
      data-closing={closing || undefined}
      style={{ ...(slot === undefined ? box : { ...box, ...slotStyle(manager, w, slot) }), zIndex: w.variant === "panel" ? aboveWindows + 2 : onTop ? aboveWindows + 3 : raised ? aboveWindows + 1 : (w.z ?? 0) }}
      onPointerDownCapture={(e) => {
        manager.raise(w);
        if (e.altKey && e.button === 0) {
          e.preventDefault();
          e.stopPropagation();
          grab(e);
        }
      }}
      onFocusCapture={() => manager.raise(w)}
    >
      <div className="win-box" style={look}>
        <TitleBar window={w} titleId={titleId} maximized={maximized} onGrab={grab} onClose={close} onMenu={(x, y) => setMenu({ x, y })} />
        {asking && (
          <Suspense>
            <WindowMessageForm
              window={w}
              onClosed={() => {
                setAsking(false);
                toTitleBar();
              }}
            />
          </Suspense>
        )}
        <div className="win-body">
          {editing ? (
            <Suspense>
              <TextEditor
                window={w}
                onClosed={() => {
                  setEditing(false);
                  toTitleBar();
                }}
              />
            </Suspense>
          ) : (
            <WindowBody window={w} />
          )}
        </div>
      </div>
      {!maximized &&
        edges
          .filter((edge) => w.variant !== "panel" || edge === (w.dockEdge === "top" ? "s" : "n"))
          .map((edge) => <div key={edge} className="win-edge" data-resize={edge} onPointerDown={(e) => grab(e, edge)} onMouseDown={(e) => e.preventDefault()} />)}
      <Suspense>
        {menu !== undefined && (
          <WindowMenu
            window={w}
            at={menu}
            maximized={maximized}
            frame={() => frame.current}
            onAsk={() => setAsking(true)}
            onEdit={() => setEditing(true)}
            onVersions={() => setVersions(true)}
            onClose={close}
            onClosed={(back) => {
              setMenu(undefined);
              if (back) toTitleBar();
            }}
          />
        )}
        {versions && <Versions window={w} onClose={() => setVersions(false)} />}
      </Suspense>
    </section>
  );
});

/** A note of the user without text is there to be written. */
function isBlankNote(w: WindowState): boolean {
  return w.windowId.startsWith("my-note-") && w.content.data === "";
}

/** A window in the overview keeps its size, so that its content is not laid out again, and is drawn smaller. */
function slotStyle(manager: WindowManager, w: WindowState, slot: Bounds): CSSProperties {
  const { w: width, h: height } = manager.drawnBounds(w);
  return { transform: `translate(${slot.x}px, ${slot.y}px) scale(${slot.w / width})`, transformOrigin: "0 0", width, height };
}

/**
 * The position and size of a window. A maximised window resizes with the canvas by CSS, without being rendered again.
 */
function boxOf(manager: WindowManager, w: WindowState, place: Place, canvas: Size, area: Bounds, scale: Scale, panels: readonly WindowState[]): CSSProperties {
  if (place.maximized && isStandard(w)) {
    return { transform: `translate(${area.x}px, ${area.y}px)`, width: "100%", height: `calc(100% - ${canvas.h - area.h}px)` };
  }
  const b = w.variant === "panel" ? panelBounds({ ...w, bounds: place.bounds }, canvas, panels) : manager.fitBounds(w, place.bounds, area, scale);
  return { transform: transformOf(b), width: b.w, height: b.h };
}
