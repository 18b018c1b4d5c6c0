import "./canvas.css";
import "./icons.css";
import { lazy, type ReactNode, Suspense, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useStore } from "zustand";
import type { MonitorID } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { ShellContext, useEvents, useShell } from "../shell/context.js";
import { useMonitor } from "../shell/select.js";
import type { Shell } from "../shell/shell.js";
import { canvas as texts } from "../texts/entry.js";
import { Kbd } from "../ui/kbd.js";
import { onceReleased } from "../ui/menu.js";
import { WindowManagerContext } from "./context.js";
import { Frame } from "./frame.js";
import { workArea } from "./geometry.js";
import { useCanvasKeys, useFocusReturn } from "./keys.js";
import { WindowManager } from "./manager.js";
import { aboveWindows, frontOf, isVisible, keyOf, mountedWindows, panelsOf, recentMonitors } from "./stack.js";

export { WindowBody, WindowIcon } from "./body.js";

const DesktopMenu = lazy(() => import("./desktop-menu.js"));
const Overview = lazy(async () => ({ default: (await import("./overview.js")).Overview }));
const Cursors = lazy(async () => ({ default: (await import("./cursors.js")).Cursors }));
const Icons = lazy(async () => ({ default: (await import("./icons.js")).Icons }));

/** The windows of the monitor that this tab shows, filling the parent. */
export function Canvas(): ReactNode {
  const bench = useContext(ShellContext)!;
  const [manager] = useState(() => new WindowManager(bench.store, bench.commands));
  useEffect(() => {
    void import("./groups.js").then(({ Groups }) => void (manager.groups = new Groups(manager)));
    return manager.start();
  }, [manager]);
  useEffect(() => {
    bench.commands.runOnWindows = (action) => void import("./windows-actions.js").then((actions) => actions.runWindowsAction(action, manager, bench));
    return () => {
      bench.commands.runOnWindows = undefined;
    };
  }, [manager, bench]);
  return (
    <WindowManagerContext value={manager}>
      <Windows manager={manager} />
    </WindowManagerContext>
  );
}

function Windows({ manager }: { manager: WindowManager }): ReactNode {
  const monitor = useMonitor();
  const recent = useRecentMonitors(monitor);
  const all = useShell((s) => s.desktop.windows);
  const windows = useMemo(() => mountedWindows(all, monitor, recent), [all, monitor, recent]);
  const here = useMemo(() => windows.filter((w) => w.monitorId === monitor), [windows, monitor]);
  const canvas = useStore(manager.store, (b) => b.canvas);
  const raised = useStore(manager.store, (b) => b.raised);
  const panels = useStableList(useMemo(() => panelsOf(here, monitor), [here, monitor]));
  const area = useMemo(() => workArea(canvas, panels), [canvas, panels]);
  const { x, y, dx, dy } = manager.layouts.scale(here, monitor, area);
  const scale = useMemo(() => ({ x, y, dx, dy }), [x, y, dx, dy]);
  const frontWindow = frontOf(here, monitor);
  const raisedWindow = all.get(raised);
  const front = raisedWindow !== undefined && isVisible(raisedWindow, monitor) ? raised : frontWindow === undefined ? "" : keyOf(frontWindow);
  const root = useRef<HTMLDivElement>(null);

  useLayoutEffect(() => {
    const el = root.current!;
    const measure = (): void => manager.measure({ w: el.clientWidth, h: el.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(el);
    return () => observer.disconnect();
  }, [manager]);
  const overview = useStore(manager.store, (b) => b.overview);
  const [menu, setMenu] = useDesktopMenu(root);
  const shared = useShell((s) => s.desktop.presence.some((c) => c.user !== s.me.user));
  useCanvasKeys(manager);
  useEvents((e, replayed) => {
    if (e.type === "ACTIONS" && !replayed) void import("./arrival.js").then(({ showWindowArrivals }) => showWindowArrivals(e.data));
  });
  useFocusReturn(manager, here);
  return (
    <div ref={root} className="win-canvas" data-overview-open={overview !== undefined || undefined}>
      <Suspense>
        <Icons area={area} />
      </Suspense>
      {here.every((w) => w.minimized === true) && <Empty monitor={monitor} />}
      {canvas.w > 0 &&
        windows.map((w) => (
          <Frame
            key={keyOf(w)}
            window={w}
            shown={w.monitorId === monitor}
            front={keyOf(w) === front}
            canvas={canvas}
            area={area}
            scale={scale}
            panels={panels}
          />
        ))}
      <SnapPreview manager={manager} />
      <Suspense>
        {shared && <Cursors monitor={monitor} />}
        {overview !== undefined && <Overview layout={overview} />}
        {menu !== undefined && <DesktopMenu at={menu} onClosed={() => setMenu(undefined)} />}
      </Suspense>
    </div>
  );
}

interface Point {
  x: number;
  y: number;
}

/** Opens the context menu of the desktop where nothing else is, also with the keyboard while the desktop has the focus. */
function useDesktopMenu(root: { current: HTMLElement | null }): [Point | undefined, (at: Point | undefined) => void] {
  const [menu, setMenu] = useState<Point>();
  useEffect(() => {
    const desktop = root.current?.closest<HTMLElement>("[data-region=canvas]");
    const open = (e: MouseEvent): void => {
      if (e.target !== desktop && e.target !== root.current) return;
      e.preventDefault();
      const box = root.current!.getBoundingClientRect();
      const at = e.target === desktop ? { x: box.x + 24, y: box.y + 24 } : { x: e.clientX, y: e.clientY };
      onceReleased(e, () => setMenu(at));
    };
    desktop?.addEventListener("contextmenu", open);
    return () => desktop?.removeEventListener("contextmenu", open);
  }, [root]);
  return [menu, setMenu];
}

/** The monitors shown before this one, the newest first. */
function useRecentMonitors(monitor: MonitorID): readonly MonitorID[] {
  const [shown, setShown] = useState<{ now: MonitorID; recent: readonly MonitorID[] }>({ now: monitor, recent: [] });
  if (shown.now === monitor) return shown.recent;
  const recent = recentMonitors(shown.recent, shown.now, monitor);
  setShown({ now: monitor, recent });
  return recent;
}

/** Returns the previous list while its elements are the same, so that memoised values are kept. */
function useStableList<T>(list: readonly T[]): readonly T[] {
  const [kept, setKept] = useState(list);
  if (kept === list) return kept;
  if (kept.length === list.length && kept.every((v, i) => v === list[i])) return kept;
  setKept(list);
  return list;
}

/** The zone that the dragged window will snap to. */
function SnapPreview({ manager }: { manager: WindowManager }): ReactNode {
  const b = useStore(manager.store, (s) => s.preview);
  return b === undefined ? null : (
    <div className="win-preview" aria-hidden style={{ left: b.x, top: b.y, width: b.w, height: b.h, zIndex: aboveWindows }} />
  );
}

function isFresh({ desktop, outbox }: Shell): boolean {
  return desktop.rows.size === 0 && desktop.windows.size === 0 && !outbox.items.some((i) => i.type === "USER_MESSAGE");
}

/** The hint of an empty monitor. */
function Empty({ monitor }: { monitor: MonitorID }): ReactNode {
  const t = useTexts(texts);
  const quiet = useShell((s) => {
    // The tour explains how to begin.
    if (!s.ready || s.tour || isFresh(s)) return false;
    for (const a of s.desktop.agents.values()) if (a.monitorId === monitor && a.status !== "idle") return false;
    return true;
  });
  if (!quiet) return null;
  return (
    <div className="win-empty">
      <h2>{t.emptyTitle}</h2>
      <p>{t.emptyText}</p>
      <p className="win-empty-keys">
        <span>
          <Kbd combo="mod+k" /> {t.emptyPalette}
        </span>
        <span>
          <Kbd combo="?" /> {t.emptyHelp}
        </span>
      </p>
    </div>
  );
}
