import "./sessions.css";
import { type ReactNode, useEffect, useState } from "react";
import { useFormat, useTexts } from "../i18n/use.js";
import type { SessionCard } from "../shell/api.js";
import { useCommands, useShell } from "../shell/context.js";
import { sessions as texts } from "../texts/sessions.js";
import { Button } from "../ui/button.js";
import { sortByUse, usedAt } from "./list.js";
import { usePreviews } from "./previews.js";
import { SessionThumbnail } from "./thumbnail.js";

/** How many sessions are offered. */
const most = 3;

/** The other sessions that were used last, with miniatures, on an empty desktop; nothing if there are none. */
export function RecentSessions(): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const commands = useCommands();
  const session = useShell((s) => s.session);
  const [cards, setCards] = useState<readonly SessionCard[]>([]);
  useEffect(() => {
    let over = false;
    commands.api.sessions().then(
      (all) => over || setCards(sortByUse(all.filter((c) => c.sessionId !== session && c.setAside !== true && usedAt(c) > 0)).slice(0, most)),
      () => undefined, // the list of sessions in the menu says why
    );
    return () => {
      over = true;
    };
  }, [commands, session]);
  const previews = usePreviews(cards);
  if (cards.length === 0) return null;
  return (
    <section className="sessions-recent" aria-labelledby="sessions-recent">
      <h2 id="sessions-recent">{t.recent}</h2>
      <ul>
        {cards.map((c) => (
          <li key={c.sessionId}>
            <button type="button" data-recent={c.sessionId} onClick={() => commands.openSession(c.sessionId)}>
              <SessionThumbnail preview={previews.get(c.sessionId)} />
              <span className="sessions-recent-name">{c.title || t.untitled}</span>
              <small>{t.used(format.moment(usedAt(c)))}</small>
            </button>
          </li>
        ))}
      </ul>
      <Button kind="ghost" size="sm" onClick={() => commands.openPanel("sessions")}>
        {t.allSessions}
      </Button>
    </section>
  );
}
