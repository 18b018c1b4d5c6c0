// The desktop and the conversation of one moment. They are drawn by the components of the desktop, in a shell of their own whose
// commands send nothing, so that other tabs and the hub never notice a film.

import { Lock } from "lucide-react";
import { memo, type ReactNode, useContext, useDeferredValue, useLayoutEffect, useMemo, useRef, useState } from "react";
import { createStore } from "zustand/vanilla";
import { type Bounds, type Client, type DesktopState, type MonitorID, shownMonitor, type WindowState } from "../../../core/src/index.js";
import { WindowBody, WindowIcon } from "../canvas/body.js";
import { fitInside, minSizeOf, panelBounds, type Size, workArea } from "../canvas/geometry.js";
import { keyOf, panelsOf } from "../canvas/stack.js";
import { ownFile } from "../content/addresses.js";
import { Markdown } from "../content/index.js";
import { workingAgents } from "../dock/agents.js";
import { EntryRow } from "../drawer/entry-row.js";
import { PlanEndRow } from "../drawer/plan-end-row.js";
import { StepGroupRow } from "../drawer/step-group-row.js";
import { useEntries, useGroupedEntries } from "../drawer/use-entries.js";
import { pathOf } from "../files/paths.js";
import { useTexts } from "../i18n/use.js";
import type { Commands } from "../shell/commands.js";
import { PageContext, ShellContext, type ShellServices, useShell } from "../shell/context.js";
import { useMonitor, useWindows } from "../shell/select.js";
import type { Shell } from "../shell/shell.js";
import { film as texts } from "../texts/film.js";
import { FileStill, Outside } from "./file-still.js";
import { stageSize } from "./stage-size.js";

/**
 * The services of a page whose session is a film: they read, and nothing that they send arrives. The class of the commands is that of
 * the page, so that it stays in the files of the first load.
 */
function filmServices(outer: ShellServices, desktop: DesktopState, monitor: MonitorID): ShellServices {
  const state = { desktop, outbox: { items: [], notes: [], hold: 0, gap: 0, last: 0 }, ready: true };
  const store = createStore<Shell>(() => ({ ...outer.store.getState(), ...state, panel: "", tour: false, notices: [], view: { monitor, pinned: true, drawer: true } }));
  const client = { state: store.getState(), send: () => "film", retry: () => undefined } as unknown as Client;
  const nothing = (): void => undefined;
  const PageCommands = outer.commands.constructor as typeof Commands;
  const commands = new PageCommands({ store, client, api: outer.commands.api, now: () => Date.now(), go: nothing, keepPrefs: nothing, forget: nothing, languages: navigator.languages });
  return { store, commands, hubClock: outer.hubClock };
}

/** Draws its children with the state of a moment. */
export function Scene({ desktop, monitor, children }: { desktop: DesktopState; monitor: MonitorID; children: ReactNode }): ReactNode {
  const outer = useContext(ShellContext)!;
  const [services] = useState(() => filmServices(outer, desktop, monitor));
  useLayoutEffect(() => services.store.setState({ desktop, view: { monitor, pinned: true, drawer: true } }), [services, desktop, monitor]);
  return (
    <PageContext value={undefined}>
      <ShellContext value={services}>{children}</ShellContext>
    </PageContext>
  );
}

/** The number of windows in front whose content is drawn at once. That of the others follows, unless the film has moved on. */
const drawnAtOnce = 6;

/** The windows of a moment, scaled to their parent. */
export function Stage(): ReactNode {
  const t = useTexts(texts);
  const monitor = useShell((s) => shownMonitor(s.view, s.desktop));
  const all = useWindows(monitor);
  const windows = useMemo(() => all.filter((w) => w.minimized !== true), [all]);
  const later = useDeferredValue(windows);
  const contents = useMemo(() => new Map([...later, ...windows.slice(-drawnAtOnce)].map((w) => [keyOf(w), w])), [later, windows]);
  const box = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState<Size>({ w: 0, h: 0 });
  useLayoutEffect(() => {
    const el = box.current!;
    const measure = (): void => setRoom({ w: el.clientWidth, h: el.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(el);
    return () => observer.disconnect();
  }, []);
  const extent = useMemo(() => stageSize(windows, room), [windows, room]);
  const scale = room.w / extent.w;
  const panels = useMemo(() => panelsOf(windows, monitor), [windows, monitor]);
  const area = workArea(extent, panels);
  return (
    <div ref={box} className="film-stage">
      <div
        className="film-desktop"
        role="group"
        aria-label={t.windows(windows.length)}
        style={{ width: extent.w, height: extent.h, transform: `scale(${scale})` }}
        inert
      >
        {scale > 0 &&
          windows.map((w) => {
            const b = w.maximized === true ? area : w.variant === "panel" ? panelBounds(w, extent, panels) : fitInside(w.bounds, area, minSizeOf(w));
            return <FilmWindow key={keyOf(w)} window={w} content={contents.get(keyOf(w))} x={b.x} y={b.y} w={b.w} h={b.h} />;
          })}
      </div>
      {windows.length === 0 && <p className="film-note">{t.noWindows}</p>}
    </div>
  );
}

/** Windows whose content is not in the log: pages, apps and files. */
function isOutside({ content }: WindowState): boolean {
  return content.renderer === "iframe" || content.renderer === "mcp-app";
}

/** The path of the session's own file that a window shows; undefined for others. */
function useOwnFile({ content }: WindowState): string | undefined {
  const session = useShell((s) => s.session);
  if (content.renderer !== "iframe") return undefined;
  const address = typeof content.data === "string" ? content.data : content.data.url;
  const file = ownFile(address, session);
  return file === undefined ? undefined : pathOf(file, session);
}

/** A window at its place. One that did not change between two moments is not rendered again. */
const FilmWindow = memo(function FilmWindow({ window: w, content, ...b }: { window: WindowState; content: WindowState | undefined } & Bounds): ReactNode {
  const file = useOwnFile(w);
  return (
    <section className="film-window" data-film-window={w.windowId} style={{ left: b.x, top: b.y, width: b.w, height: b.h, zIndex: w.z ?? 0 }}>
      {w.frameless !== true && (
        <header className="film-window-title">
          <WindowIcon window={w} />
          <span>{w.title}</span>
          {(w.lock ?? "") !== "" && <Lock size={12} aria-hidden />}
        </header>
      )}
      <div className="film-window-body">
        {file !== undefined ? <FileStill path={file} /> : isOutside(w) ? <Outside title={w.title} /> : content !== undefined && <WindowBody window={content} />}
      </div>
    </section>
  );
});

/** The conversation of a moment, at its end. */
export function Conversation(): ReactNode {
  const t = useTexts(texts);
  const monitor = useMonitor();
  const rows = useShell((s) => s.desktop.rows);
  const agents = useShell((s) => s.desktop.agents);
  const entries = useEntries(rows, monitor);
  const runs = useGroupedEntries(entries);
  const working = useMemo(() => workingAgents(agents).filter((a) => a.monitorId === monitor), [agents, monitor]);
  const scroller = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const el = scroller.current!;
    el.scrollTop = el.scrollHeight;
  });
  return (
    <div ref={scroller} className="film-conversation" tabIndex={0} role="log" aria-live="off" aria-label={t.conversation}>
      <div className="film-rows" inert>
        {runs.length === 0 && working.length === 0 && <p className="film-note">{t.noRows}</p>}
        {runs.map((e) => {
          if (e.kind === "steps") return <StepGroupRow key={e.key} run={e} named={false} />;
          return e.kind === "plan" ? <PlanEndRow key={e.key} plan={e} named={false} /> : <EntryRow key={e.key} entry={e} named={false} />;
        })}
        {working.map((a) => (
          <article key={a.role} className="film-agent" data-film-agent={a.role}>
            <p className="film-note">{t.working}</p>
            {a.text !== "" && <Markdown text={a.text} streaming />}
          </article>
        ))}
      </div>
    </div>
  );
}
