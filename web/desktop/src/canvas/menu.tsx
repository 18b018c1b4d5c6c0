import { Copy, Grid2x2, MessageSquareText, Minus, PanelLeft, PanelRight, Pin, Square, X } from "lucide-react";
import type { ReactNode } from "react";
import { isStandard, type WindowState } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { canvas as texts } from "../texts/entry.js";
import { Kbd } from "../ui/kbd.js";
import { MenuItem, MenuList } from "../ui/menu.js";
import { useWindowManager } from "./context.js";
import type { Zone } from "./geometry.js";

interface WindowMenuProps {
  window: WindowState;
  at: { x: number; y: number };
  maximized: boolean;
  onAsk: () => void;
  onClose: () => void;
  /** Called when the menu closes; true if the focus returns to the title bar. */
  onClosed: (back: boolean) => void;
}

/** The context menu of a window. */
export function WindowMenu({ window: w, at, maximized, onAsk, onClose, onClosed }: WindowMenuProps): ReactNode {
  const t = useTexts(texts);
  const manager = useWindowManager();
  const commands = useCommands();
  const session = useShell((s) => s.session);
  const pick = (act: () => void, back = true) => (): void => {
    onClosed(back);
    act();
  };
  const pin = (): void => {
    void import("./apps.js").then(async ({ listApps, pinWindow }) => {
      const action = pinWindow(w, await listApps(commands.api, session).catch(() => []), Date.now());
      if (action === undefined) commands.notify(t.notPinned, "warning");
      else commands.send("EMIT", { actions: [action], monitorId: w.monitorId });
    });
  };
  const snap = (zone: Zone, label: string, icon: ReactNode, hint?: ReactNode): ReactNode => (
    <MenuItem icon={icon} {...(hint === undefined ? {} : { hint })} onSelect={pick(() => manager.snap(w, zone))}>
      {label}
    </MenuItem>
  );
  return (
    // Events must not bubble to the window, which handles keys and pointers itself.
    <div className="win-menu" onPointerDown={stop} onKeyDown={stop}>
      <MenuList key={`${at.x} ${at.y}`} label={t.menu(w.title || t.untitled)} place={() => at} onClosed={onClosed}>
        <MenuItem icon={<MessageSquareText size={14} />} onSelect={pick(onAsk, false)}>
          {t.ask}
        </MenuItem>
        {(w.content.renderer === "iframe" || w.content.renderer === "html") && (
          <MenuItem icon={<Pin size={14} />} onSelect={pick(pin)}>
            {t.pin}
          </MenuItem>
        )}
        {isStandard(w) && (
          <>
            <hr />
            <MenuItem icon={maximized ? <Copy size={13} /> : <Square size={13} />} hint={<Kbd combo="alt+enter" />} onSelect={pick(() => manager.toggleMaximized(w))}>
              {maximized ? t.restore : t.maximize}
            </MenuItem>
            <MenuItem
              icon={<Minus size={14} />}
              onSelect={pick(() => (manager.live ? commands.toggleMinimized(w) : commands.notify(t.needsLink, "warning")), false)}
            >
              {t.minimize}
            </MenuItem>
            <hr />
            {snap("left", t.snapLeft, <PanelLeft size={14} />, <Kbd combo="alt+arrowleft" />)}
            {snap("right", t.snapRight, <PanelRight size={14} />, <Kbd combo="alt+arrowright" />)}
            {snap("top-left", t.snapTopLeft, <Grid2x2 size={14} />)}
            {snap("top-right", t.snapTopRight, <Grid2x2 size={14} />)}
            {snap("bottom-left", t.snapBottomLeft, <Grid2x2 size={14} />)}
            {snap("bottom-right", t.snapBottomRight, <Grid2x2 size={14} />)}
          </>
        )}
        <hr />
        <MenuItem icon={<X size={14} />} danger onSelect={pick(onClose, false)}>
          {t.close}
        </MenuItem>
      </MenuList>
    </div>
  );
}

function stop(e: { stopPropagation: () => void }): void {
  e.stopPropagation();
}
