import { useEffect, useMemo, useState } from "react";
import { useShell } from "../shell/context.js";

/** How many notifications came since this tab last showed them. */
export function useUnread(): number {
  const session = useShell((s) => s.session);
  const notifications = useShell((s) => s.desk.notifications);
  const looking = useShell((s) => s.panel === "notifications");
  const key = `everdesk.seen.${session}`;
  const [seen, see] = useState<ReadonlySet<string>>(() => readSeen(sessionStorage.getItem(key)));
  useEffect(() => {
    if (!looking) return;
    const now = new Set(notifications.keys());
    see(now);
    sessionStorage.setItem(key, JSON.stringify([...now]));
  }, [looking, notifications, key]);
  return useMemo(() => unread(notifications.keys(), seen), [notifications, seen]);
}

export function unread(ids: Iterable<string>, seen: ReadonlySet<string>): number {
  let n = 0;
  for (const id of ids) if (!seen.has(id)) n++;
  return n;
}

export function readSeen(text: string | null): ReadonlySet<string> {
  try {
    const list: unknown = JSON.parse(text ?? "[]");
    return new Set(Array.isArray(list) ? list.filter((id) => typeof id === "string") : []);
  } catch {
    return new Set();
  }
}
