// Notifications of the browser: one for all tabs of a session, and only while nobody looks at any of them.

import { useEffect, useRef } from "react";
import { type Clock, Leader } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useEvents, useHubClock, useShell } from "../shell/context.js";
import { monitorNumber } from "../shell/select.js";
import { notices as texts } from "../texts/parts.js";
import { Watch } from "./watch.js";
import { type News, newsOf } from "./worth.js";

const clock: Clock = {
  now: () => Date.now(),
  setTimeout: (f, ms) => setTimeout(f, ms),
  clearTimeout: (timer) => clearTimeout(timer as number),
};

const isLookedAt = (): boolean => document.visibilityState === "visible" && document.hasFocus();

const allowed = (): boolean => typeof Notification !== "undefined" && Notification.permission === "granted";

export function useBrowserNotices(): void {
  const t = useTexts(texts);
  const commands = useCommands();
  const hub = useHubClock();
  const session = useShell((s) => s.session);
  const wanted = useShell((s) => s.prefs.notify);
  const title = useShell((s) => s.desktop.title);
  const tabs = useTabs(session);

  const show = (news: News): void => {
    const n = monitorNumber(news.monitor);
    const name = title || t.unnamed;
    const body = {
      finished: t.finishedBody(name, n),
      failed: t.failedBody(name, n, news.text || t.failedPlain),
      needsYou: news.monitor === "" ? t.planBody(name, news.text) : t.needsYouBody(name, n, news.text),
      planFinished: t.planBody(name, news.text),
      planFailed: t.planBody(name, news.text || t.failedPlain),
    }[news.kind];
    const shown = new Notification(t[news.kind], { body, tag: `${session} ${news.key}` });
    shown.onclick = () => {
      shown.close();
      window.focus();
      if (news.monitor !== "") commands.showMonitor(news.monitor);
      else commands.showPlan(true);
    };
  };
  useEvents((e) => {
    if (!wanted || !allowed() || tabs.current === undefined) return;
    const { leader, watch } = tabs.current;
    const news = newsOf(e, { now: hub.now(), hidden: !isLookedAt() });
    if (news === undefined || !leader.leading) return;
    void watch.unwatched().then((nobody) => {
      if (nobody && leader.claim(news.key)) show(news);
    });
  });
}

interface Tabs {
  leader: Leader;
  watch: Watch;
}

/** What the tabs of a session tell each other. Each session has a leader of its own, since only its tabs hear its events. */
function useTabs(session: string): { current: Tabs | undefined } {
  const tabs = useRef<Tabs>(undefined);
  useEffect(() => {
    const locks = navigator.locks as LockManager | undefined;
    const leader = new Leader({
      tab: crypto.getRandomValues(new Uint32Array(2)).join("-"),
      channel: new BroadcastChannel(`everdesk.leader.${session}`),
      clock,
      ...(locks === undefined ? {} : { locks: { request: (name, options, held) => locks.request(`${name}.${session}`, options, held) } }),
    });
    const watch = new Watch(new BroadcastChannel(`everdesk.watch.${session}`), isLookedAt);
    tabs.current = { leader, watch };
    return () => {
      leader.close();
      watch.close();
      tabs.current = undefined;
    };
  }, [session]);
  return tabs;
}
