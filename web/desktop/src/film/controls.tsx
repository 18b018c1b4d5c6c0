import { Pause, Play, SkipBack, SkipForward } from "lucide-react";
import type { ReactNode, Ref } from "react";
import { useFormat, useTexts } from "../i18n/use.js";
import { film as texts } from "../texts/film.js";
import { IconButton } from "../ui/button.js";
import type { Mark } from "./timeline.js";
import type { FilmReel } from "./use-film.js";

interface Props {
  ref: Ref<HTMLInputElement>;
  reel: FilmReel;
  position: number;
  /** The time of the position, in words. */
  label: string;
  playing: boolean;
  speed: number;
  onSeek: (to: number) => void;
  onPlay: (playing: boolean) => void;
  onSpeed: (speed: number) => void;
  onJump: (back: boolean) => void;
  children: ReactNode;
}

const speeds = [1, 2, 4, 8, 16, 32];
/** The most marks that are drawn on the slider; more would not be told apart. */
const maxTicks = 200;
/** The most characters of a mark in the list. */
const maxText = 60;

/** The slider and the buttons of a film. */
export function Controls({ ref, reel, position, label, playing, speed, onSeek, onPlay, onSpeed, onJump, children }: Props): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const nameOf = (m: Mark): string => {
    const name = { message: t.markMessage, plan: t.markPlan, checkpoint: t.markCheckpoint, restore: t.markRestore }[m.kind];
    const text = m.text.replace(/\s+/g, " ").slice(0, maxText);
    return `${format.moment(m.time)} · ${text === "" ? name : `${name}: ${text}`}`;
  };
  const here = reel.marks.findLastIndex((m) => m.moment <= position);
  return (
    <footer className="film-controls">
      <div className="film-line">
        <IconButton icon={SkipBack} label={t.previous} onClick={() => onJump(true)} />
        <IconButton icon={playing ? Pause : Play} label={playing ? t.pause : t.play} onClick={() => onPlay(!playing)} data-film-play={playing} />
        <IconButton icon={SkipForward} label={t.next} onClick={() => onJump(false)} />
        <div className="film-slider">
          <div className="film-ticks" aria-hidden>
            {reel.marks.slice(-maxTicks).map((m) => (
              <i key={m.moment} data-kind={m.kind} style={{ left: `${(100 * m.moment) / Math.max(1, reel.last)}%` }} />
            ))}
          </div>
          <input
            ref={ref}
            type="range"
            min={0}
            max={reel.last}
            step={1}
            value={position}
            aria-label={t.slider}
            aria-valuetext={`${label}, ${t.position(position, reel.last)}`}
            onChange={(e) => onSeek(Number(e.target.value))}
          />
        </div>
        <time className="film-time">{label}</time>
      </div>
      <div className="film-line">
        <label className="film-choice">
          {t.jump}
          <select value={here} data-film-jump onChange={(e) => onSeek(reel.marks[Number(e.target.value)]?.moment ?? 0)}>
            <option value={-1}>{t.beginning}</option>
            {reel.marks.map((m, i) => (
              <option key={m.moment} value={i}>
                {nameOf(m)}
              </option>
            ))}
          </select>
        </label>
        <label className="film-choice">
          {t.speed}
          <select value={speed} onChange={(e) => onSpeed(Number(e.target.value))}>
            {speeds.map((s) => (
              <option key={s} value={s}>
                {s}×
              </option>
            ))}
          </select>
        </label>
        {children}
        <span className="film-hint">{t.keys}</span>
      </div>
    </footer>
  );
}
