// The time up to which the notifications of a session were read, shared by all tabs of a browser.

import { useEffect, useState } from "react";
import { useShell } from "../shell/context.js";
import { forBrowser } from "../shell/storage.js";
import { newestTime } from "./visible-notices.js";

export interface ReadMark {
  /** The time up to which everything was read. */
  until: number;
  /** The same, before the centre was opened. */
  before: number;
}

/** The read mark of the session. The centre marks everything as read when it is open. */
export function useReadMark(): ReadMark {
  const session = useShell((s) => s.session);
  const all = useShell((s) => s.desktop.notifications);
  const open = useShell((s) => s.panel === "notifications");
  const key = `everdesk.read.${session}`;
  const [mark, setMark] = useState<ReadMark>(() => ({ until: storedMark(key), before: storedMark(key) }));
  const newest = newestTime(all.values());
  if (open && newest > mark.until) setMark({ ...mark, until: newest });
  if (!open && mark.before !== mark.until) setMark({ ...mark, before: mark.until });

  useEffect(() => {
    if (storedMark(key) < mark.until) forBrowser.setItem(key, String(mark.until));
  }, [key, mark.until]);
  useEffect(() => {
    const onStorage = (e: StorageEvent): void => {
      if (e.key === key) setMark((m) => ({ ...m, until: Math.max(m.until, storedMark(key)) }));
    };
    addEventListener("storage", onStorage);
    return () => removeEventListener("storage", onStorage);
  }, [key]);
  return mark;
}

function storedMark(key: string): number {
  const n = Number(forBrowser.getItem(key) ?? "0");
  return Number.isFinite(n) ? n : 0;
}
