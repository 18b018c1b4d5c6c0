import { type ReactNode, useId, useMemo, useRef } from "react";
import { useFormat, useTexts } from "../i18n/use.js";
import { useShell } from "../shell/context.js";
import { forTab } from "../shell/storage.js";
import { tabName } from "../shell/tab.js";
import { topbar as texts } from "../texts/entry.js";
import { type Avatar, avatarsOf, userAvatars } from "./avatars.js";

/** One avatar per user; a popover lists all their tabs with their times. */
export function Presence(): ReactNode {
  const t = useTexts(texts);
  const presence = useShell((s) => s.desktop.presence);
  const total = useShell((s) => s.desktop.connections);
  const { faces, more } = useMemo(() => userAvatars(presence, total, tabName(forTab), 3), [presence, total]);
  const all = useMemo(() => avatarsOf(presence, total, tabName(forTab), 12), [presence, total]);
  const id = useId();
  const card = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  if (faces.length === 0) return null;
  const summary = t.connectionsAll(Math.max(total, presence.length));
  const toggle = (): void => {
    const at = button.current!.getBoundingClientRect();
    card.current!.style.top = `${at.bottom + 6}px`;
    card.current!.style.right = `${Math.max(8, innerWidth - at.right)}px`;
  };
  return (
    <>
      <button ref={button} type="button" className="topbar-faces" popoverTarget={id} aria-label={summary} title={summary} onClick={toggle}>
        {faces.map((f) => (
          <AvatarMark key={f.id} face={f} />
        ))}
        {more > 0 && <span className="topbar-face topbar-face-more">+{more}</span>}
      </button>
      <div ref={card} id={id} popover="auto" className="menu topbar-people" aria-label={t.presence}>
        <div className="menu-title">{summary}</div>
        <ul>
          {all.faces.map((f) => (
            <Person key={f.id} face={f} />
          ))}
        </ul>
        {all.more > 0 && <div className="menu-title">{t.more(all.more)}</div>}
      </div>
    </>
  );
}

function AvatarMark({ face }: { face: Avatar }): ReactNode {
  return (
    <span className={`topbar-face topbar-tint-${face.tint}${face.own ? " topbar-face-own" : ""}`} data-tabs={face.tabs > 1 ? face.tabs : undefined} aria-hidden>
      {face.initials}
    </span>
  );
}

function Person({ face }: { face: Avatar }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  return (
    <li className="topbar-person">
      <AvatarMark face={face} />
      <span className="topbar-person-name">{face.user === "" ? t.someone : face.user}</span>
      {face.own && <span className="topbar-person-own">{t.you}</span>}
      {face.since > 0 && <span className="topbar-person-since">{t.since(format.time(face.since))}</span>}
    </li>
  );
}
