import { ExternalLink, File, FolderOpen, Sparkles } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useContext, useMemo, useRef, useState } from "react";
import type { Bounds, Shortcut } from "../../../core/src/index.js";
import { pictureSource } from "../content/addresses.js";
import { LeaveDialog } from "../content/leave-dialog.js";
import { useKnownFiles } from "../files/known.js";
import { openFiles } from "../files/open.js";
import { useTexts } from "../i18n/use.js";
import { AppPicture } from "../launcher/app-picture.js";
import { ShellContext, useCommands, useShell } from "../shell/context.js";
import { useMonitor } from "../shell/select.js";
import { files as fileTexts } from "../texts/files.js";
import { windows as texts } from "../texts/windows.js";
import { onceReleased } from "../ui/menu.js";
import { type App, openApp, useApps } from "./apps.js";
import { gap } from "./geometry.js";
import { clickText, iconAfterKey } from "./icon.js";
import { IconDialog, type IconDialogKind, IconMenu } from "./icon-menu.js";
import { hueOf } from "./kind.js";

/** The icons on the desktop, below the windows and between the panels. */
export function Icons({ area }: { area: Bounds }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const monitor = useMonitor();
  const shortcuts = useShell((s) => s.desktop.shortcuts);
  const apps = useApps();
  const windows = useShell((s) => s.desktop.windows);
  const [leaving, setLeaving] = useState<string>();
  const [menu, setMenu] = useState<{ id: string; x: number; y: number }>();
  const [dialog, setDialog] = useState<{ id: string; kind: IconDialogKind }>();
  const list = useRef<HTMLElement>(null);
  const sorted = useMemo(() => [...shortcuts.values()].sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)), [shortcuts]);
  const { files } = useKnownFiles();
  if (sorted.length === 0 && apps.length === 0 && files.length === 0) return null;

  const open = (s: Shortcut): void => {
    if (s.osActions !== undefined && s.osActions.length > 0) {
      commands.send("EMIT", { actions: s.osActions, monitorId: monitor });
    } else if (s.type === "url") {
      setLeaving(s.target);
    } else {
      const timestamp = Date.now();
      const sent = commands.send("USER_MESSAGE", {
        content: clickText(s),
        monitorId: monitor,
        interactions: [{ type: "icon.click", timestamp, details: s.id }],
      });
      if (sent === undefined) commands.notify(t.tooMuch, "warning");
      else commands.notify(t.started(s.label));
    }
  };
  const buttons = (): HTMLElement[] => [...list.current!.querySelectorAll<HTMLElement>("[data-files-icon], [data-shortcut-id], [data-app-id]")];
  const focus = (id: string): void => buttons().find((b) => b.dataset.shortcutId === id)?.focus();
  const press = (e: KeyboardEvent<HTMLElement>): void => {
    const all = buttons();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const id = all[at]?.dataset.shortcutId;
    if (at < 0 || e.ctrlKey || e.altKey || e.metaKey) return;
    const to = iconAfterKey(e.key, all.map((b) => b.getBoundingClientRect()), at);
    if (to !== undefined) all[to]?.focus();
    else if (id === undefined) return;
    else if (e.key === "F2") setDialog({ id, kind: "rename" });
    else if (e.key === "Delete") setDialog({ id, kind: "remove" });
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const menuOf = menu === undefined ? undefined : shortcuts.get(menu.id);
  const dialogOf = dialog === undefined ? undefined : shortcuts.get(dialog.id);
  return (
    <>
      <nav ref={list} className="win-icons" aria-label={t.icons} style={{ top: area.y + gap, height: Math.max(0, area.h - 2 * gap) }} onKeyDown={press}>
        {files.length > 0 && <FilesIcon />}
        {apps.map((a) => (
          <AppIcon key={a.id} app={a} onOpen={() => commands.send("EMIT", { actions: [openApp(a, monitor, windows.values())], monitorId: monitor })} />
        ))}
        {sorted.map((s) => (
          <Icon key={s.id} shortcut={s} onOpen={() => open(s)} onMenu={(x, y) => setMenu({ id: s.id, x, y })} />
        ))}
      </nav>
      {menu !== undefined && menuOf !== undefined && (
        <IconMenu
          label={menuOf.label}
          at={menu}
          onOpen={() => open(menuOf)}
          onDialog={(kind) => setDialog({ id: menuOf.id, kind })}
          onClosed={(back) => {
            setMenu(undefined);
            if (back) focus(menuOf.id);
          }}
        />
      )}
      {dialog !== undefined && dialogOf !== undefined && (
        <IconDialog
          key={`${dialog.kind} ${dialog.id}`}
          shortcut={dialogOf}
          kind={dialog.kind}
          onSend={(action) => {
            if (commands.send("EMIT", { actions: [action], monitorId: monitor }) === undefined) commands.notify(t.tooMuch, "warning");
          }}
          onClose={() => setDialog(undefined)}
        />
      )}
      {leaving !== undefined && <LeaveDialog address={leaving} onClose={() => setLeaving(undefined)} />}
    </>
  );
}

interface IconProps {
  shortcut: Shortcut;
  onOpen: () => void;
  onMenu: (x: number, y: number) => void;
}

function Icon({ shortcut: s, onOpen, onMenu }: IconProps): ReactNode {
  const count = useShell((st) => st.desktop.badges.get(s.target) ?? 0);
  return (
    <button
      type="button"
      className="win-icon"
      data-shortcut-id={s.id}
      title={s.label}
      aria-keyshortcuts="F2 Delete Shift+F10"
      onClick={onOpen}
      onContextMenu={(e) => {
        e.preventDefault();
        e.stopPropagation();
        const box = e.currentTarget.getBoundingClientRect();
        // A menu that the keyboard opens may have no position.
        const [x, y] = [e.clientX || box.left + box.width / 2, e.clientY || box.top + box.height / 2];
        onceReleased(e, () => onMenu(x, y));
      }}
    >
      <span className={`win-icon-picture kind kind-${hueOf(s.target)}`}>
        <Picture shortcut={s} />
        <Count count={count} />
      </span>
      <span className="win-icon-label">{s.label}</span>
    </button>
  );
}

/** The icon of the Files window. It is there once the session has files. */
function FilesIcon(): ReactNode {
  const t = useTexts(fileTexts);
  const { store, commands } = useContext(ShellContext)!;
  return (
    <button type="button" className="win-icon" data-files-icon title={t.title} onClick={() => openFiles(commands, store.getState())}>
      <span className="win-icon-picture kind kind-8">
        <FolderOpen size={24} aria-hidden />
      </span>
      <span className="win-icon-label">{t.title}</span>
    </button>
  );
}

function AppIcon({ app: a, onOpen }: { app: App; onOpen: () => void }): ReactNode {
  const count = useShell((st) => st.desktop.badges.get(a.id) ?? 0);
  return (
    <button type="button" className="win-icon" data-app-id={a.id} title={a.description ?? a.name} onClick={onOpen}>
      <span className={`win-icon-picture kind kind-${hueOf(a.id)}`}>
        <AppPicture app={a} />
        <Count count={count} />
      </span>
      <span className="win-icon-label">{a.name}</span>
    </button>
  );
}

function Count({ count }: { count: number }): ReactNode {
  const t = useTexts(texts);
  if (count === 0) return null;
  return (
    <span className="win-icon-count">
      <span aria-hidden>{count > 99 ? "99+" : count}</span>
      <span className="hidden-text">{t.opens(count)}</span>
    </span>
  );
}

function Picture({ shortcut: s }: { shortcut: Shortcut }): ReactNode {
  const [broken, setBroken] = useState(false);
  const session = useShell((st) => st.session);
  const source = s.iconType === "image" ? pictureSource(s.icon, session) : undefined;
  if (source !== undefined && !broken) return <img src={source} alt="" draggable={false} onError={() => setBroken(true)} />;
  if (s.iconType !== "image" && s.icon !== "" && [...s.icon].length <= 8) return <span aria-hidden>{s.icon}</span>;
  const Fallback = s.type === "url" ? ExternalLink : s.type === "file" ? File : Sparkles;
  return <Fallback size={24} aria-hidden />;
}
