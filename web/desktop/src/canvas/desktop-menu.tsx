import { ArchiveRestore, LayoutGrid, LayoutPanelLeft, NotebookPen, Settings, StickyNote, Undo2, X } from "lucide-react";
import { type ReactNode, useContext } from "react";
import { createPortal } from "react-dom";
import { useTexts } from "../i18n/use.js";
import type { WindowsAction } from "../shell/commands.js";
import { ShellContext, useShell } from "../shell/context.js";
import { windows as texts } from "../texts/windows.js";
import { Kbd } from "../ui/kbd.js";
import { MenuItem, MenuList } from "../ui/menu.js";
import { useWindowManager } from "./context.js";

/** The context menu of the desktop. */
export default function DesktopMenu({ at, onClosed }: { at: { x: number; y: number }; onClosed: () => void }): ReactNode {
  const t = useTexts(texts);
  const { store, commands } = useContext(ShellContext)!;
  const { history } = useWindowManager();
  const none = useShell((s) => s.desktop.windows.size === 0);
  const run = (action: WindowsAction) => (): void => {
    onClosed();
    commands.runOnWindows?.(action);
  };
  return createPortal(
    <MenuList key={`${at.x} ${at.y}`} label={t.desktop} place={() => at} onClosed={onClosed}>
      <MenuItem icon={<StickyNote size={14} />} onSelect={run("newNote")}>
        {t.newNote}
      </MenuItem>
      <MenuItem
        icon={<NotebookPen size={14} />}
        onSelect={() => {
          onClosed();
          void import("../content/notebook/open.js").then(({ openNotebook }) => openNotebook(commands, store.getState()));
        }}
      >
        {t.newNotebook}
      </MenuItem>
      <hr />
      <MenuItem icon={<LayoutPanelLeft size={14} />} hint={<Kbd combo="alt+t" />} disabled={none} onSelect={run("tidy")}>
        {t.tidy}
      </MenuItem>
      <MenuItem icon={<LayoutGrid size={14} />} hint={<Kbd combo="alt+w" />} disabled={none} onSelect={run("overview")}>
        {t.overview}
      </MenuItem>
      <hr />
      <MenuItem icon={<Undo2 size={14} />} hint={<Kbd combo="mod+z" />} disabled={history.isEmpty} onSelect={run("undo")}>
        {t.undo}
      </MenuItem>
      <MenuItem icon={<ArchiveRestore size={14} />} hint={<Kbd combo="alt+shift+t" />} disabled={history.closed.length === 0} onSelect={run("reopen")}>
        {t.reopen}
      </MenuItem>
      <MenuItem icon={<X size={14} />} danger disabled={none} onSelect={run("closeAll")}>
        {t.closeAll}
      </MenuItem>
      <hr />
      <MenuItem
        icon={<Settings size={14} />}
        onSelect={() => {
          onClosed();
          commands.openPanel("settings");
        }}
      >
        {t.appearance}
      </MenuItem>
    </MenuList>,
    document.body,
  );
}
