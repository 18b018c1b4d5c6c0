import { useMemo } from "react";
import { useReadMark } from "../notices/read.js";
import { unread } from "../notices/shelf.js";
import { useShell } from "../shell/context.js";

/** How many notifications came since somebody in this browser last looked at them. */
export function useUnread(): number {
  const notifications = useShell((s) => s.desktop.notifications);
  const { until } = useReadMark();
  return useMemo(() => unread(notifications.values(), until), [notifications, until]);
}
