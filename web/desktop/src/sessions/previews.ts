// What the list of sessions shows of a session: the titles and places of its windows.

import { useEffect, useRef, useState } from "react";
import type { SessionID, WindowState } from "../../../core/src/index.js";
import type { Api, SessionCard } from "../shell/api.js";
import { useCommands } from "../shell/context.js";

/** The windows of a session. */
export type Preview = readonly WindowState[];

/** The most sessions whose windows are read. */
const maxPreviews = 60;
/** How often the windows of sessions that work are read again, in ms. */
const refresh = 4000;

async function readPreview(api: Api, id: SessionID): Promise<Preview> {
  const { windows } = await api.ask<{ windows?: WindowState[] }>("GET", `/api/sessions/${encodeURIComponent(id)}/snapshot`);
  return windows ?? [];
}

/** The previews of sessions, read one after the other, and again while a session works. */
export function usePreviews(cards: readonly SessionCard[]): ReadonlyMap<SessionID, Preview> {
  const { api } = useCommands();
  const [previews, setPreviews] = useState<ReadonlyMap<SessionID, Preview>>(new Map());
  const known = useRef(previews);
  known.current = previews;
  useEffect(() => {
    let over = false;
    const read = async (ids: readonly SessionID[]): Promise<void> => {
      for (const id of ids) {
        if (over) return;
        const preview = await readPreview(api, id).catch(() => undefined);
        if (!over && preview !== undefined) setPreviews((all) => new Map(all).set(id, preview));
      }
    };
    const usable = cards.filter((c) => c.setAside !== true).slice(0, maxPreviews);
    void read(usable.map((c) => c.sessionId).filter((id) => !known.current.has(id)));
    const timer = setInterval(() => void read(usable.filter((c) => c.working).map((c) => c.sessionId)), refresh);
    return () => {
      over = true;
      clearInterval(timer);
    };
  }, [api, cards]);
  return previews;
}

/** The sessions with every word of a text in their title, their owner's name or the titles of their windows. */
export function findSessions(cards: readonly SessionCard[], previews: ReadonlyMap<SessionID, Preview>, text: string): SessionCard[] {
  const words = text.normalize("NFC").toLowerCase().split(/\s+/).filter((w) => w !== "");
  return cards.filter((c) => {
    const whole = [c.title ?? "", c.user, ...(previews.get(c.sessionId) ?? []).map((w) => w.title)].join(" ").normalize("NFC").toLowerCase();
    return words.every((w) => whole.includes(w));
  });
}
