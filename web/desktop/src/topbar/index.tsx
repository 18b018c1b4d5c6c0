import "./topbar.css";
import "./status.css"; // after topbar.css: its container queries hide elements of both
import { Bell, Inbox, Menu, MessagesSquare } from "lucide-react";
import { lazy, type ReactNode, Suspense } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { useMonitorGone, useQuestionCount } from "../shell/select.js";
import { topbar as texts } from "../texts/entry.js";
import { IconButton } from "../ui/button.js";
import { LinkChip, StoppedCard } from "./link-chip.js";
import { Logo } from "./logo.js";
import { ModeChip } from "./mode.js";
import { Presence } from "./presence.js";
import { ProviderChip } from "./provider.js";
import { SessionName } from "./session-name.js";
import { MonitorTabs } from "./tabs.js";
import { useUnread } from "./unread.js";

export { isSessionClosed } from "./link.js";
export { LinkChip, MonitorGone, StoppedCard } from "./link-chip.js";
export { SessionName } from "./session-name.js";

const LoadedMenu = lazy(async () => ({ default: (await import("./main-menu.js")).MainMenu }));
const PlanChip = lazy(async () => ({ default: (await import("../plan/index.js")).PlanChip }));

/** The session and its monitors at the left; connection, presence, mode, provider and notices at the right. */
export function TopBar(): ReactNode {
  return (
    <div className="topbar">
      <div className="topbar-left">
        <Logo />
        <SessionName />
        <span className="topbar-line" aria-hidden />
        <MonitorTabs />
      </div>
      <div className="topbar-right">
        <Plan />
        <LinkChip />
        <Presence />
        <ModeChip />
        <ProviderChip />
        <span className="topbar-line" aria-hidden />
        <NoticeButtons />
        <MainMenu />
      </div>
      <StoppedCard />
    </div>
  );
}

/** The main menu. Its button cannot be used until the menu is loaded. */
export function MainMenu(): ReactNode {
  const t = useTexts(texts);
  return (
    <Suspense fallback={<IconButton icon={Menu} label={t.menu} disabled />}>
      <LoadedMenu />
    </Suspense>
  );
}

/** The progress of the plan, if there is one. */
function Plan(): ReactNode {
  const there = useShell((s) => s.desktop.layer !== "");
  return <Suspense>{there && <PlanChip />}</Suspense>;
}

/** The buttons of the inbox, the notifications and the conversation. */
function NoticeButtons(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const questions = useQuestionCount();
  const unread = useUnread();
  const panel = useShell((s) => s.panel);
  const drawer = useShell((s) => s.view.drawer);
  const gone = useMonitorGone();
  return (
    <>
      <IconButton
        icon={Inbox}
        label={questions > 0 ? t.inboxCount(questions) : t.inbox}
        count={questions}
        className={questions > 0 ? "topbar-asking" : ""}
        aria-pressed={panel === "inbox"}
        onClick={() => commands.togglePanel("inbox")}
      />
      <IconButton
        icon={Bell}
        label={unread > 0 ? t.bellCount(unread) : t.bell}
        count={unread}
        aria-pressed={panel === "notifications"}
        onClick={() => commands.togglePanel("notifications")}
      />
      {!gone && <IconButton icon={MessagesSquare} label={t.drawer} aria-pressed={drawer} onClick={() => commands.showDrawer(!drawer)} />}
    </>
  );
}
