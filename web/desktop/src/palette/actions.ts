// All actions that are available everywhere: the palette, the shortcuts and the help use this list.

import type { LucideIcon } from "lucide-react";
import { Bell, Blocks, CircleHelp, CircleStop, Compass, FolderOpen, FoldVertical, Inbox, KeyRound, Languages, LayoutGrid, ListTodo, ListTree, MessageSquare, MonitorCheck, NotebookPen, OctagonX, Palette, Plug, Plus, QrCode, RefreshCw, RotateCcw, Search, Settings, ShieldCheck, SlidersHorizontal, SquarePlus } from "lucide-react";
import { limits, shownMonitor } from "../../../core/src/index.js";
import { focusCommandBar } from "../dock/drafts.js";
import type { Commands, WindowsAction } from "../shell/commands.js";
import type { Theme } from "../shell/prefs.js";
import { hasAccount, isMonitorGone } from "../shell/select.js";
import type { Panel, Shell } from "../shell/shell.js";
import type { palette as texts } from "../texts/palette.js";
import type { Combo } from "../ui/keys.js";
import type { Rankable } from "./rank.js";
import { cycleRegion } from "./regions.js";

export type Texts = (typeof texts)["en"];

export interface Action {
  id: string;
  group: Rankable["group"];
  icon: LucideIcon;
  title: (t: Texts) => string;
  /** The text in the help; actions with the same text share a line there. */
  help?: (t: Texts) => string;
  combo?: Combo;
  /** Whether it is available now. */
  when: (s: Shell) => boolean;
  run: (commands: Commands, s: Shell) => void;
  /** Whether it is only a shortcut and not in the palette. */
  hidden?: boolean;
  /** Whether its shortcut has another meaning in text fields. */
  notTyping?: boolean;
}

const always = (): boolean => true;

function panelAction(id: Panel, icon: LucideIcon, title: (t: Texts) => string, combo?: Combo): Action {
  return { id: `open.${id}`, group: "actions", icon, title, when: always, run: (c) => c.togglePanel(id), ...(combo === undefined ? {} : { combo }) };
}

const panelActions: Action[] = [
  { ...panelAction("palette", Search, (t) => t.openPalette, "mod+k"), hidden: true },
  panelAction("inbox", Inbox, (t) => t.openInbox, "alt+i"),
  panelAction("notifications", Bell, (t) => t.openNotifications, "alt+n"),
  {
    id: "drawer",
    group: "actions",
    icon: MessageSquare,
    title: (t) => t.toggleDrawer,
    combo: "alt+c",
    when: always,
    run: (c, s) => c.showDrawer(!s.view.drawer),
  },
  { id: "plan", group: "actions", icon: ListTree, title: (t) => t.showPlan, combo: "alt+g", when: always, run: (c, s) => c.showPlan(!s.planOpen) },
  {
    id: "plan.first",
    group: "actions",
    icon: ListTodo,
    title: (t) => t.planFirst,
    combo: "alt+p",
    when: always,
    run: (c, s) => {
      c.setPlanFirst(!s.planFirst);
      focusCommandBar();
    },
  },
  {
    id: "files",
    group: "actions",
    icon: FolderOpen,
    title: (t) => t.openFiles,
    combo: "alt+o",
    when: always,
    run: (c, s) => void import("../files/open.js").then(({ openFiles }) => openFiles(c, s)),
  },
  {
    id: "notebook.new",
    group: "actions",
    icon: NotebookPen,
    title: (t) => t.newNotebook,
    when: (s) => !isMonitorGone(s),
    run: (c, s) => void import("../content/notebook/open.js").then(({ openNotebook }) => openNotebook(c, s)),
  },
  panelAction("launcher", LayoutGrid, (t) => t.openLauncher, "alt+a"),
  panelAction("film", RotateCcw, (t) => t.openFilm),
  panelAction("compare", ListTree, (t) => t.openCompare),
  panelAction("sessions", LayoutGrid, (t) => t.openSessions),
  { id: "session.new", group: "actions", icon: SquarePlus, title: (t) => t.newSession, when: always, run: (c) => void c.newSession("").catch((e: unknown) => c.notify(String(e), "error")) },
  panelAction("join", QrCode, (t) => t.openJoin),
  panelAction("programs", Plug, (t) => t.openPrograms),
  { ...panelAction("connect", KeyRound, (t) => t.openConnect), when: (s) => hasAccount(s.me) },
  { ...panelAction("modes", SlidersHorizontal, (t) => t.openModes), when: (s) => hasAccount(s.me) },
  { ...panelAction("servers", Blocks, (t) => t.openServers), when: (s) => hasAccount(s.me) },
  { ...panelAction("domains", ShieldCheck, (t) => t.openDomains), when: (s) => hasAccount(s.me) },
  panelAction("alone", ShieldCheck, (t) => t.openAlone),
  panelAction("settings", Settings, (t) => t.openSettings),
  panelAction("help", CircleHelp, (t) => t.openHelp, "?"),
  { id: "tour", group: "actions", icon: Compass, title: (t) => t.showTour, when: always, run: (c) => c.showTour(true) },
];

function windowAction(id: WindowsAction, icon: LucideIcon, title: (t: Texts) => string, combo?: Combo): Action {
  const needsWindows = id !== "undo" && id !== "reopen" && id !== "newNote";
  return {
    id: `windows.${id}`,
    group: "actions",
    icon,
    title,
    when: (s) => !needsWindows || s.desktop.windows.size > 0,
    run: (c) => c.runOnWindows?.(id),
    ...(combo === undefined ? {} : { combo }),
  };
}

const windowActions: Action[] = [
  windowAction("tidy", LayoutGrid, (t) => t.tidy, "alt+t"),
  windowAction("overview", LayoutGrid, (t) => t.overview, "alt+w"),
  { ...windowAction("undo", RotateCcw, (t) => t.undo, "mod+z"), notTyping: true },
  windowAction("reopen", RotateCcw, (t) => t.reopen, "alt+shift+t"),
  windowAction("newNote", SquarePlus, (t) => t.newNote),
  windowAction("closeAll", OctagonX, (t) => t.closeAll),
];

const agentActions: Action[] = [
  {
    id: "stop.monitor",
    group: "actions",
    icon: CircleStop,
    title: (t) => t.stopMonitor,
    when: (s) => s.desktop.monitors.get(shownMonitor(s.view, s.desktop))?.state === "running",
    run: (c, s) => c.stopMonitor(shownMonitor(s.view, s.desktop)),
  },
  {
    id: "condense",
    group: "actions",
    icon: FoldVertical,
    title: (t) => t.condense,
    when: (s) => {
      const monitor = s.desktop.monitors.get(shownMonitor(s.view, s.desktop));
      return monitor?.state !== "running" && (monitor?.context?.tokens ?? 0) > 0 && monitor?.context?.condensing !== true;
    },
    run: (c, s) => c.condense(shownMonitor(s.view, s.desktop)),
  },
  { id: "stop.all", group: "actions", icon: OctagonX, title: (t) => t.stopAll, when: (s) => s.desktop.agents.size > 0, run: (c) => c.stopAll() },
  { id: "link.retry", group: "actions", icon: RefreshCw, title: (t) => t.retryLink, when: (s) => s.link.phase !== "live", run: (c) => c.retryLink() },
];

const monitorActions: Action[] = [
  ...[1, 2, 3, 4].map((n): Action => {
    const id = `monitor-${n - 1}`;
    return {
      id: `monitor.${n}`,
      group: "monitors",
      icon: MonitorCheck,
      title: (t) => t.showMonitor(n),
      help: (t) => t.showMonitors,
      combo: `alt+${n}`,
      when: (s) => !s.view.pinned && s.desktop.monitors.has(id),
      run: (c) => c.showMonitor(id),
    };
  }),
  {
    id: "monitor.add",
    group: "monitors",
    icon: Plus,
    title: (t) => t.addMonitor,
    when: (s) => !s.view.pinned && s.desktop.monitors.size < limits.monitors,
    run: (c) => void c.addMonitor(limits.monitors),
  },
];

const focusActions: Action[] = [
  { id: "region.next", group: "actions", icon: Compass, title: (t) => t.nextRegion, combo: "f6", when: always, run: () => cycleRegion(1), hidden: true },
  { id: "region.previous", group: "actions", icon: Compass, title: (t) => t.previousRegion, combo: "shift+f6", when: always, run: () => cycleRegion(-1), hidden: true },
];

const themes: Theme[] = ["system", "dark", "light", "contrast"];
const languages = ["system", "en", "ko"] as const;

const settingActions: Action[] = [
  ...themes.map(
    (theme): Action => ({
      id: `theme.${theme}`,
      group: "settings",
      icon: Palette,
      title: (t) => t.theme({ system: t.themeSystem, dark: t.themeDark, light: t.themeLight, contrast: t.themeContrast }[theme]),
      when: (s) => s.prefs.theme !== theme,
      run: (c) => c.setPrefs({ theme }),
    }),
  ),
  ...languages.map(
    (language): Action => ({
      id: `language.${language}`,
      group: "settings",
      icon: Languages,
      title: (t) => t.language({ system: t.languageSystem, en: "English", ko: "한국어" }[language]),
      when: (s) => s.prefs.language !== language,
      run: (c) => c.setPrefs({ language }),
    }),
  ),
];

export const actions: readonly Action[] = [...panelActions, ...windowActions, ...agentActions, ...monitorActions, ...focusActions, ...settingActions];
