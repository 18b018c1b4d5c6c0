import "./overview.css";
import { AppWindow, ArrowDownLeft, ArrowDownRight, ArrowUpLeft, ArrowUpRight, Copy, CopyPlus, Download, Expand, Group, History, MessageSquareText, Minus, MonitorUp, PanelLeft, PanelRight, Pencil, Pin, PinOff, Square, Ungroup, X } from "lucide-react";
import type { ReactNode } from "react";
import { isStandard, limits, type MessageID, type MonitorID, type WindowState } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell, useShellStore } from "../shell/context.js";
import { monitorNumber } from "../shell/select.js";
import { canvas as texts, ui } from "../texts/entry.js";
import { windows as moreTexts } from "../texts/windows.js";
import { Kbd } from "../ui/kbd.js";
import { MenuItem, MenuList } from "../ui/menu.js";
import { afterAcceptance } from "./accepted.js";
import { useCanvasState, useWindowManager } from "./context.js";
import { exportKinds, exportWindow, textOf } from "./export.js";
import type { Zone } from "./geometry.js";
import { bringForward } from "./groups.js";
import { keyOf } from "./stack.js";
import { reopening } from "./windows-actions.js";

export interface WindowMenuProps {
  window: WindowState;
  at: { x: number; y: number };
  maximized: boolean;
  /** The element of the window. */
  frame: () => HTMLElement | null;
  onAsk: () => void;
  onEdit: () => void;
  onVersions: () => void;
  onClose: () => void;
  /** Called when the menu closes; true if the focus returns to the title bar. */
  onClosed: (back: boolean) => void;
}

const icon = { size: 14, "aria-hidden": true } as const;

/** The context menu of a window. */
export default function WindowMenu({ window: w, at, maximized, frame, onAsk, onEdit, onVersions, onClose, onClosed }: WindowMenuProps): ReactNode {
  const t = useTexts(texts);
  const more = useTexts(moreTexts);
  const { notCopied, copied } = useTexts(ui);
  const manager = useWindowManager();
  const commands = useCommands();
  const store = useShellStore();
  const session = useShell((s) => s.session);
  const monitors = useShell((s) => s.desktop.monitors);
  const onTop = useCanvasState((b) => b.onTop.has(keyOf(w)));
  const group = manager.groups?.of(w) ?? [];
  const editable = w.content.renderer === "markdown" || w.content.renderer === "text";
  const pick = (act: () => void, back = true) => (): void => {
    onClosed(back);
    act();
  };
  const pin = (): void => {
    void import("./apps.js").then(async ({ listApps, pinWindow }) => {
      const action = pinWindow(w, await listApps(commands.api, session).catch(() => []), Date.now());
      if (action === undefined) commands.notify(more.notPinned, "warning");
      else commands.send("EMIT", { actions: [action], monitorId: w.monitorId });
    });
  };
  const copy = (): void => {
    // The clipboard is unavailable in insecure contexts.
    const written = navigator.clipboard?.writeText(textOf(w)) ?? Promise.reject(new Error("no clipboard"));
    written.then(() => commands.notify(copied, "success", 2000), () => commands.notify(notCopied, "warning"));
  };
  const openCopy = (monitorId: MonitorID, windowId: string, shift: number): MessageID | undefined => {
    const bounds = w.restoreBounds ?? w.bounds;
    const copied = { ...w, windowId, bounds: { ...bounds, x: bounds.x + shift, y: bounds.y + shift } };
    return commands.send("EMIT", { actions: reopening(copied), monitorId });
  };
  const moveTo = (monitor: MonitorID): void => {
    const sent = openCopy(monitor, freeID(w.windowId, monitor), 0);
    if (sent === undefined) return commands.notify(more.tooMuch, "warning");
    afterAcceptance(store, sent, () => {
      commands.closeWindow(w);
      commands.notify(more.moved(monitorNumber(monitor)), "success");
    });
  };
  const freeID = (id: string, monitor: MonitorID): string => {
    let free = id;
    for (let n = 2; manager.window(`${monitor}/${free}`) !== undefined; n++) free = `${id}-${n}`;
    return free;
  };
  const snap = (zone: Zone, label: string, symbol: ReactNode): ReactNode => (
    <MenuItem icon={<span title={label}>{symbol}</span>} onSelect={pick(() => manager.snap(w, zone))}>
      <span className="hidden-text">{label}</span>
    </MenuItem>
  );
  const others = [...monitors.keys()].filter((m) => m !== w.monitorId);
  return (
    // Events must not bubble to the window, which handles keys and pointers itself.
    <div className="win-menu" onPointerDown={stop} onKeyDown={stop}>
      <MenuList key={`${at.x} ${at.y}`} label={t.menu(w.title || t.untitled)} place={() => at} onClosed={onClosed}>
        <MenuItem icon={<MessageSquareText {...icon} />} onSelect={pick(onAsk, false)}>
          {more.ask}
        </MenuItem>
        {editable && (
          <MenuItem icon={<Pencil {...icon} />} onSelect={pick(onEdit, false)}>
            {more.edit}
          </MenuItem>
        )}
        <MenuItem icon={<History {...icon} />} onSelect={pick(onVersions, false)}>
          {more.versions}
        </MenuItem>
        <hr />
        <MenuItem icon={<Copy {...icon} />} onSelect={pick(copy)}>
          {more.copy}
        </MenuItem>
        {exportKinds(w).map((kind) => (
          <MenuItem
            key={kind}
            icon={<Download {...icon} />}
            onSelect={pick(() => {
              const el = frame();
              if (el !== null) exportWindow(w, kind, el).catch(() => commands.notify(more.notExported, "error"));
            })}
          >
            {more.export(kind.toUpperCase())}
          </MenuItem>
        ))}
        <hr />
        <MenuItem icon={<CopyPlus {...icon} />} onSelect={pick(() => void (openCopy(w.monitorId, freeID(`${w.windowId}-copy`, w.monitorId), 28) || commands.notify(more.tooMuch, "warning")))}>
          {more.duplicate}
        </MenuItem>
        {others.map((m) => (
          <MenuItem key={m} icon={<MonitorUp {...icon} />} onSelect={pick(() => moveTo(m), false)}>
            {more.toMonitor(monitorNumber(m))}
          </MenuItem>
        ))}
        {others.length === 0 && limits.monitors > 1 && (
          <MenuItem
            icon={<MonitorUp {...icon} />}
            onSelect={pick(() => {
              const made = commands.addMonitor(limits.monitors, false);
              if (made !== undefined) moveTo(made);
            }, false)}
          >
            {more.toNewMonitor}
          </MenuItem>
        )}
        {w.variant !== "panel" && (
          <MenuItem icon={onTop ? <PinOff {...icon} /> : <Pin {...icon} />} onSelect={pick(() => manager.keepOnTop(w, !onTop))}>
            {onTop ? more.notOnTop : more.onTop}
          </MenuItem>
        )}
        {(w.content.renderer === "iframe" || w.content.renderer === "html") && (
          <MenuItem icon={<AppWindow {...icon} />} onSelect={pick(pin)}>
            {more.pin}
          </MenuItem>
        )}
        {document.fullscreenEnabled && (
          <MenuItem icon={<Expand {...icon} />} onSelect={pick(() => void frame()?.requestFullscreen().catch(() => undefined))}>
            {more.fullScreen}
          </MenuItem>
        )}
        {isStandard(w) && (
          <>
            <hr />
            <MenuItem icon={maximized ? <Copy size={13} /> : <Square size={13} />} hint={<Kbd combo="alt+enter" />} onSelect={pick(() => manager.toggleMaximized(w))}>
              {maximized ? t.restore : t.maximize}
            </MenuItem>
            <MenuItem icon={<Minus {...icon} />} onSelect={pick(() => (manager.live ? commands.toggleMinimized(w) : commands.notify(t.needsLink, "warning")), false)}>
              {t.minimize}
            </MenuItem>
            {group.length > 1 && (
              <>
                <MenuItem icon={<Group {...icon} />} onSelect={pick(() => bringForward(group, commands))}>
                  {more.groupForward}
                </MenuItem>
                <MenuItem icon={<Ungroup {...icon} />} onSelect={pick(() => (manager.live ? group.forEach((o) => commands.toggleMinimized(o)) : commands.notify(t.needsLink, "warning")), false)}>
                  {more.groupMinimise}
                </MenuItem>
              </>
            )}
            <hr />
            <div className="win-menu-zones">
              {snap("left", more.snapLeft, <PanelLeft {...icon} />)}
              {snap("top-left", more.snapTopLeft, <ArrowUpLeft {...icon} />)}
              {snap("top-right", more.snapTopRight, <ArrowUpRight {...icon} />)}
              {snap("bottom-left", more.snapBottomLeft, <ArrowDownLeft {...icon} />)}
              {snap("bottom-right", more.snapBottomRight, <ArrowDownRight {...icon} />)}
              {snap("right", more.snapRight, <PanelRight {...icon} />)}
            </div>
          </>
        )}
        <hr />
        <MenuItem icon={<X {...icon} />} danger onSelect={pick(onClose, false)}>
          {t.close}
        </MenuItem>
      </MenuList>
    </div>
  );
}

function stop(e: { stopPropagation: () => void }): void {
  e.stopPropagation();
}
