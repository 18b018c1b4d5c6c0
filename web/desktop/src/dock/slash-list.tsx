import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef } from "react";
import { useTexts } from "../i18n/use.js";
import { dock as texts } from "../texts/entry.js";
import { film as filmTexts } from "../texts/film.js";
import { slash as slashTexts } from "../texts/slash.js";
import type { SlashName, Suggestion } from "./slash.js";

interface Props {
  id: string;
  suggestions: readonly Suggestion[];
  chosen: number;
  /** The element above which the list opens. */
  anchor: RefObject<HTMLElement | null>;
  onChoose: (s: Suggestion) => void;
}

/** The suggested commands for a line. The list is in the top layer; the focus stays in the command bar. */
export function SlashList({ id, suggestions, chosen, anchor, onChoose }: Props): ReactNode {
  const t = useTexts(texts);
  const c = useTexts(slashTexts);
  const f = useTexts(filmTexts);
  const list = useRef<HTMLDivElement>(null);
  const about: Record<SlashName, string> = {
    plan: c.slashPlan,
    stop: c.slashStop,
    condense: c.slashCondense,
    reset: c.slashReset,
    new: c.slashNew,
    monitor: c.slashMonitor,
    provider: c.slashProvider,
    mode: c.slashMode,
    theme: c.slashTheme,
    language: c.slashLanguage,
    sessions: c.slashSessions,
    film: f.slash,
    checkpoints: f.slashCheckpoints,
    connect: c.slashConnect,
    help: c.slashHelp,
  };
  useEffect(() => list.current!.showPopover(), []);
  useLayoutEffect(() => {
    const box = anchor.current!.getBoundingClientRect();
    const style = list.current!.style;
    style.left = `${box.left}px`;
    style.width = `${Math.min(box.width, 480)}px`;
    style.bottom = `${innerHeight - box.top + 6}px`;
  });
  return (
    <div ref={list} id={id} popover="manual" role="listbox" aria-label={t.commandList} className="dock-slash">
      {suggestions.map((s, i) => (
        <div
          key={s.text}
          id={`${id}-${i}`}
          role="option"
          aria-selected={i === chosen}
          className="dock-slash-item"
          onPointerDown={(e) => {
            e.preventDefault(); // the focus stays
            onChoose(s);
          }}
        >
          <code>{s.text}</code>
          <span>{about[s.name]}</span>
        </div>
      ))}
    </div>
  );
}
