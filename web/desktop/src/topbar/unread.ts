import { useMemo } from "react";
import type { ShownNotification } from "../../../core/src/index.js";
import { useReadMark } from "../notices/read.js";
import { useShell } from "../shell/context.js";

/** How many notifications came since somebody in this browser last looked at them. */
export function useUnread(): number {
  const notifications = useShell((s) => s.desk.notifications);
  const { until } = useReadMark();
  return useMemo(() => unread(notifications.values(), until), [notifications, until]);
}

export function unread(all: Iterable<ShownNotification>, until: number): number {
  let n = 0;
  for (const one of all) if ((one.since ?? 0) > until) n++;
  return n;
}
