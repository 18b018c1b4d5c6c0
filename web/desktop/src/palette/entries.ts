import { AppWindow, Bot, type LucideIcon, MessagesSquare, SlidersHorizontal, Sparkles } from "lucide-react";
import { isStandard, shownMonitor, type WindowState } from "../../../core/src/index.js";
import type { SessionCard } from "../shell/api.js";
import type { Commands } from "../shell/commands.js";
import { canDirectAgents, isMonitorGone, monitorNumber } from "../shell/select.js";
import type { Shell } from "../shell/shell.js";
import { topbar } from "../texts/entry.js";
import { modeChoices } from "../topbar/modes.js";
import type { Combo } from "../ui/keys.js";
import { actions, type Texts } from "./actions.js";
import type { Rankable } from "./rank.js";

/** A line of the palette. */
export interface Entry extends Rankable {
  icon: LucideIcon;
  hint?: string;
  combo?: Combo;
  run: () => void;
}

interface EntriesOf {
  shell: Shell;
  commands: Commands;
  t: Texts;
  /** The English texts, since many users type English. */
  en: Texts;
  sessions: readonly SessionCard[];
  query: string;
}

/** All entries that are available now. */
export function entriesOf(o: EntriesOf): Entry[] {
  return [...actionEntries(o), ...windowEntries(o), ...providerEntries(o), ...modeEntries(o), ...sessionEntries(o), ...askEntries(o)];
}

function actionEntries({ shell, commands, t, en }: EntriesOf): Entry[] {
  return actions
    .filter((a) => a.hidden !== true && a.when(shell))
    .map((a) => ({
      id: a.id,
      group: a.group,
      icon: a.icon,
      title: a.title(t),
      words: a.title(en),
      ...(a.combo === undefined ? {} : { combo: a.combo }),
      run: () => a.run(commands, shell),
    }));
}

function windowEntries({ shell, commands, t }: EntriesOf): Entry[] {
  const windows = [...shell.desktop.windows.values()].filter((w) => isStandard(w)).sort((a, b) => (b.z ?? 0) - (a.z ?? 0));
  return windows.map((w) => ({
    id: `window.${w.monitorId}/${w.windowId}`,
    group: "windows",
    icon: AppWindow,
    title: w.title || t.untitled,
    hint: [t.monitorName(monitorNumber(w.monitorId)), w.minimized === true ? t.minimized : ""].filter(Boolean).join(" · "),
    run: () => showWindow(commands, w),
  }));
}

function showWindow(commands: Commands, w: WindowState): void {
  commands.showMonitor(w.monitorId);
  commands.focusWindow(w);
}

function providerEntries({ shell, commands, t, en }: EntriesOf): Entry[] {
  return shell.hub.providers
    .filter((name) => name !== shell.desktop.provider)
    .map((name) => ({
      id: `provider.${name}`,
      group: "settings",
      icon: Bot,
      title: t.provider(name),
      words: en.provider(name),
      run: () => commands.setProvider(name),
    }));
}

/** The modes that the session can change to. */
function modeEntries({ shell, commands, t, en }: EntriesOf): Entry[] {
  if (!canDirectAgents(shell) || shell.modes === undefined) return [];
  const english = modeChoices(shell.modes.modes, shell.desktop.agentMode, topbar.en);
  return modeChoices(shell.modes.modes, shell.desktop.agentMode, topbar[shell.language]).flatMap(({ id, name, checked }, i) =>
    checked ? [] : [{ id: `mode.${id}`, group: "settings" as const, icon: SlidersHorizontal, title: t.mode(name), words: en.mode(english[i]!.name), run: () => commands.setMode(id) }],
  );
}

function sessionEntries({ shell, commands, t, sessions }: EntriesOf): Entry[] {
  return sessions
    .filter((s) => s.sessionId !== shell.session && s.setAside !== true)
    .map((s) => ({
      id: `session.${s.sessionId}`,
      group: "sessions",
      icon: MessagesSquare,
      title: s.title || t.unnamed,
      words: s.sessionId,
      ...(s.working ? { hint: t.working } : {}),
      run: () => commands.openSession(s.sessionId),
    }));
}

/** The entry that sends the query to the agent of the monitor, if the monitor exists. */
function askEntries({ shell, commands, t, query }: EntriesOf): Entry[] {
  const text = askText(query);
  if (text === "" || isMonitorGone(shell)) return [];
  return [
    {
      id: "ask",
      group: "ask",
      icon: Sparkles,
      title: t.askAgent(text),
      run: () => {
        if (commands.sendMessage(text, shownMonitor(shell.view, shell.desktop)) === undefined) commands.notify(t.askFull, "warning");
        else commands.notify(t.asked, "success", 2500);
      },
    },
  ];
}

/** The message in a query; the prefix "ask:" excludes all other entries. */
export function askText(query: string): string {
  return query.trim().replace(askPrefix, "");
}

export function asksOnly(query: string): boolean {
  return askPrefix.test(query.trim());
}

const askPrefix = /^(?:ask|물어보기|질문)\s*:\s*/i;
