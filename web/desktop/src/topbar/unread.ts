import { useMemo } from "react";
import { useReadMark } from "../notices/read-mark.js";
import { countUnread } from "../notices/visible-notices.js";
import { useShell } from "../shell/context.js";

/** The number of notifications since the centre was last open in this browser. */
export function useUnread(): number {
  const notifications = useShell((s) => s.desktop.notifications);
  const { until } = useReadMark();
  return useMemo(() => countUnread(notifications.values(), until), [notifications, until]);
}
