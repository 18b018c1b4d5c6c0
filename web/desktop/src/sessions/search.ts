// Searches the conversations of all sessions of the user at the hub, page by page.

import { useEffect, useState } from "react";
import type { SessionID } from "../../../core/src/index.js";
import type { SessionCard } from "../shell/api.js";
import { useCommands } from "../shell/context.js";

/** How long the text must not have changed before the hub is asked, in ms. */
const pause = 350;
/** The most pages of one search; the hub looks at 20 sessions for each. */
const maxPages = 25;

export interface SearchResult {
  /** The sessions found so far. */
  readonly cards: ReadonlyMap<SessionID, SessionCard>;
  readonly searching: boolean;
}

const nothing: SearchResult = { cards: new Map(), searching: false };

/** What the hub finds for a text of two or more characters. A newer text ends the search for the one before. */
export function useSearch(text: string): SearchResult {
  const { api } = useCommands();
  const [result, setResult] = useState<SearchResult>(nothing);
  const words = text.trim().normalize("NFC").slice(0, 60);
  useEffect(() => {
    setResult(nothing);
    if (words.length < 2) return;
    let over = false;
    setResult({ cards: new Map(), searching: true });
    const search = async (): Promise<void> => {
      const cards = new Map<SessionID, SessionCard>();
      let after = "";
      for (let page = 0; page < maxPages && !over; page++) {
        const query = new URLSearchParams({ q: words, limit: "20", after });
        const got = await api.ask<{ sessions: SessionCard[]; next?: string }>("GET", `/api/sessions?${query}`).catch(() => ({ sessions: [], next: "" }));
        for (const c of got.sessions) cards.set(c.sessionId, c);
        after = got.next ?? "";
        if (!over) setResult({ cards: new Map(cards), searching: after !== "" && page + 1 < maxPages });
        if (after === "") return;
      }
    };
    const timer = setTimeout(() => void search(), pause);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [api, words]);
  return result;
}
