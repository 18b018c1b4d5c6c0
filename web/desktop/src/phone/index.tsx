import "./phone.css";
import { AppWindow, Inbox as InboxIcon, type LucideIcon, MessagesSquare, Monitor, Plus } from "lucide-react";
import type { ReactNode } from "react";
import { limits } from "../../../core/src/index.js";
import { Inbox } from "../asks/index.js";
import { CommandBar } from "../dock/index.js";
import { Conversation } from "../drawer/index.js";
import { useTexts } from "../i18n/use.js";
import { PlanChip, Plans } from "../plan/index.js";
import { useCommands, useShell } from "../shell/context.js";
import { monitorNumber, useMonitor, useMonitorGone, useMonitors, useQuestionCount, useWindows } from "../shell/select.js";
import type { PhonePage } from "../shell/shell.js";
import { phone as texts } from "../texts/phone.js";
import { isSessionClosed, LinkChip, MainMenu, MonitorGone, SessionName, StoppedCard } from "../topbar/index.js";
import { Start } from "../tour/index.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { Windows } from "./windows.js";

/** The layout for phones, with one page at a time. */
export function Phone(): ReactNode {
  const t = useTexts(texts);
  const page = useShell((s) => s.phonePage);
  const gone = useMonitorGone();
  const over = useShell((s) => isSessionClosed(s.link));
  return (
    <div className="phone">
      <header className="phone-head" aria-label={t.header} data-region="topbar">
        <SessionName />
        <LinkChip />
        <MonitorSwitch />
        <MainMenu />
        <StoppedCard />
      </header>
      <main className={`phone-page phone-page-${page}`} data-region="canvas" tabIndex={-1} aria-label={t[page]}>
        {gone && <MonitorGone />}
        {!gone && page === "chat" && (
          <>
            <div className="phone-talk">
              {over ? (
                <Conversation />
              ) : (
                <Start>
                  <Conversation />
                </Start>
              )}
            </div>
            {!over && (
              <div className="phone-bar">
                <PlanChip />
                <CommandBar />
              </div>
            )}
          </>
        )}
        {!gone && page === "windows" && <Windows />}
        {!gone && page === "inbox" && (
          <div className="phone-inbox">
            <Inbox />
          </div>
        )}
      </main>
      {!gone && <Pages />}
      {!gone && <Plans />}
    </div>
  );
}

function MonitorSwitch(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const monitors = useMonitors();
  const shown = useMonitor();
  const pinned = useShell((s) => s.view.pinned);
  if (pinned) return null;
  return (
    <Menu
      label={t.monitors}
      align="end"
      trigger={(menu) => (
        <button type="button" className="phone-monitor" aria-label={t.monitor(monitorNumber(shown))} {...menu}>
          <Monitor size={16} aria-hidden />
          {monitorNumber(shown)}
        </button>
      )}
    >
      {(close) => (
        <>
          {monitors.map((m) => (
            <MenuItem
              key={m.monitorId}
              checked={m.monitorId === shown}
              icon={<Monitor size={14} aria-hidden />}
              hint={m.state === "running" ? t.working : undefined}
              onSelect={() => {
                close();
                commands.showMonitor(m.monitorId);
              }}
            >
              {t.monitor(monitorNumber(m.monitorId))}
            </MenuItem>
          ))}
          {monitors.length < limits.monitors && (
            <MenuItem
              icon={<Plus size={14} aria-hidden />}
              onSelect={() => {
                close();
                commands.addMonitor(limits.monitors);
              }}
            >
              {t.addMonitor}
            </MenuItem>
          )}
        </>
      )}
    </Menu>
  );
}

/** The navigation at the bottom. */
function Pages(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const page = useShell((s) => s.phonePage);
  const questions = useQuestionCount();
  const windows = useWindows(useMonitor()).length;
  const pages: { id: PhonePage; icon: LucideIcon; count: number; label: string }[] = [
    { id: "chat", icon: MessagesSquare, count: 0, label: t.chat },
    { id: "windows", icon: AppWindow, count: windows, label: windows > 0 ? `${t.windows}, ${t.windowsCount(windows)}` : t.windows },
    { id: "inbox", icon: InboxIcon, count: questions, label: questions > 0 ? `${t.inbox}, ${t.inboxCount(questions)}` : t.inbox },
  ];
  return (
    <nav className="phone-pages" aria-label={t.pages} data-region="dock">
      {pages.map(({ id, icon: Icon, count, label }) => (
        <button key={id} type="button" aria-label={label} aria-current={page === id ? "page" : undefined} data-page={id} onClick={() => commands.showPhonePage(id)}>
          <span className="phone-pages-icon">
            <Icon size={20} aria-hidden />
            {count > 0 && <span className="phone-pages-count" data-count={count > 99 ? "99+" : count} />}
          </span>
          <span aria-hidden>{t[id]}</span>
        </button>
      ))}
    </nav>
  );
}
