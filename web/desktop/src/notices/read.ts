// Up to when the notifications of a session were read. All tabs of a browser know it.

import { useEffect, useState } from "react";
import { useShell } from "../shell/context.js";
import { forBrowser } from "../shell/storage.js";
import { newestOf } from "./shelf.js";

export interface ReadMark {
  /** Up to when everything was read. */
  until: number;
  /** The same, before the centre was opened. */
  before: number;
}

/** Everything is read once the centre shows it. */
export function useReadMark(): ReadMark {
  const session = useShell((s) => s.session);
  const all = useShell((s) => s.desktop.notifications);
  const open = useShell((s) => s.panel === "notifications");
  const key = `everdesk.read.${session}`;
  const [mark, setMark] = useState<ReadMark>(() => ({ until: kept(key), before: kept(key) }));
  const newest = newestOf(all.values());
  if (open && newest > mark.until) setMark({ ...mark, until: newest });
  if (!open && mark.before !== mark.until) setMark({ ...mark, before: mark.until });

  useEffect(() => {
    if (kept(key) < mark.until) forBrowser.setItem(key, String(mark.until));
  }, [key, mark.until]);
  useEffect(() => {
    const hear = (e: StorageEvent): void => {
      if (e.key === key) setMark((m) => ({ ...m, until: Math.max(m.until, kept(key)) }));
    };
    addEventListener("storage", hear);
    return () => removeEventListener("storage", hear);
  }, [key]);
  return mark;
}

function kept(key: string): number {
  const n = Number(forBrowser.getItem(key) ?? "0");
  return Number.isFinite(n) ? n : 0;
}
