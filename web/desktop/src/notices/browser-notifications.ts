// Notifications of the browser: one for all tabs of a session, and only while none of them has the focus.

import { useEffect, useRef } from "react";
import { type Clock, Leader } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useEvents, useHubClock, useShell } from "../shell/context.js";
import { monitorNumber } from "../shell/select.js";
import { notices as texts } from "../texts/notices.js";
import { type Announcement, announcementOf } from "./announcements.js";
import { FocusWatch } from "./focus-watch.js";

const clock: Clock = {
  now: () => Date.now(),
  setTimeout: (f, ms) => setTimeout(f, ms),
  clearTimeout: (timer) => clearTimeout(timer as number),
};

const isTabFocused = (): boolean => document.visibilityState === "visible" && document.hasFocus();

const isPermitted = (): boolean => typeof Notification !== "undefined" && Notification.permission === "granted";

export function useBrowserNotices(): void {
  const t = useTexts(texts);
  const commands = useCommands();
  const hub = useHubClock();
  const session = useShell((s) => s.session);
  const wanted = useShell((s) => s.prefs.notify);
  const title = useShell((s) => s.desktop.title);
  const tabs = useTabs(session);

  const show = (announcement: Announcement): void => {
    const n = monitorNumber(announcement.monitor);
    const name = title || t.unnamed;
    const body = {
      finished: t.finishedBody(name, n),
      failed: t.failedBody(name, n, announcement.text || t.failedPlain),
      needsYou: announcement.monitor === "" ? t.planBody(name, announcement.text) : t.needsYouBody(name, n, announcement.text),
      planFinished: t.planBody(name, announcement.text),
      planFailed: t.planBody(name, announcement.text || t.failedPlain),
    }[announcement.kind];
    const notification = new Notification(t[announcement.kind], { body, tag: `${session} ${announcement.key}` });
    notification.onclick = () => {
      notification.close();
      window.focus();
      if (announcement.monitor !== "") commands.showMonitor(announcement.monitor);
      else commands.showPlan(true);
    };
  };
  useEvents((e) => {
    if (!wanted || !isPermitted() || tabs.current === undefined) return;
    const { leader, watch } = tabs.current;
    const announcement = announcementOf(e, { now: hub.now(), hidden: !isTabFocused() });
    if (announcement === undefined || !leader.leading) return;
    void watch.isUnfocused().then((unwatched) => {
      if (unwatched && leader.claim(announcement.key)) show(announcement);
    });
  });
}

interface Tabs {
  leader: Leader;
  watch: FocusWatch;
}

/**
 * The channels between the tabs of a session. Each session elects a leader among its own tabs, since only they receive
 * its events.
 */
function useTabs(session: string): { current: Tabs | undefined } {
  const tabs = useRef<Tabs>(undefined);
  useEffect(() => {
    const locks = navigator.locks as LockManager | undefined;
    const leader = new Leader({
      tab: crypto.getRandomValues(new Uint32Array(2)).join("-"),
      channel: new BroadcastChannel(`everdesk.leader.${session}`),
      clock,
      ...(locks === undefined ? {} : { locks: { request: (name, options, callback) => locks.request(`${name}.${session}`, options, callback) } }),
    });
    const watch = new FocusWatch(new BroadcastChannel(`everdesk.watch.${session}`), isTabFocused);
    tabs.current = { leader, watch };
    return () => {
      leader.close();
      watch.close();
      tabs.current = undefined;
    };
  }, [session]);
  return tabs;
}
