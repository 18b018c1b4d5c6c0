import "./notices.css";
import { lazy, type ReactNode, Suspense, useEffect } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands, useEvents, useShell } from "../shell/context.js";
import { useQuestionCount } from "../shell/select.js";
import { notices as texts } from "../texts/notices.js";
import { pageTitle } from "./announcements.js";
import { useBrowserNotices } from "./browser-notifications.js";
import { useReadMark } from "./read-mark.js";
import { Stack } from "./stack.js";
import { countUnread } from "./visible-notices.js";

const Centre = lazy(async () => ({ default: (await import("./centre.js")).Centre }));

/** Toasts, the notification centre, the notifications of the browser and the badge of the title. */
export function Notices(): ReactNode {
  const panel = useShell((s) => s.panel);
  const title = useShell((s) => s.desktop.title);
  const notifications = useShell((s) => s.desktop.notifications);
  const questions = useQuestionCount();
  const read = useReadMark();
  useBrowserNotices();
  useUserChangeNotice();

  const waiting = questions + countUnread(notifications.values(), read.until);
  useEffect(() => {
    document.title = pageTitle(title, waiting);
  }, [title, waiting]);
  return (
    <>
      <Stack />
      <Suspense>{panel === "notifications" && <Centre readUntil={read.before} />}</Suspense>
    </>
  );
}

/** Says in every tab that the session belongs to another user now. */
function useUserChangeNotice(): void {
  const t = useTexts(texts);
  const commands = useCommands();
  const me = useShell((s) => s.me.user);
  useEvents((e) => {
    if (e.type !== "SESSION_USER_CHANGED") return;
    commands.notify(e.data.user === me ? t.givenToYou(e.data.previous) : t.given(e.data.user), "info", 8000);
  });
}
