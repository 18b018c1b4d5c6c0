import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Playhead, PlayTimes } from "./timeline.js";
import type { FilmReel } from "./use-film.js";

interface Play {
  readonly position: number;
  seek: (to: number) => void;
  readonly playing: boolean;
  setPlaying: (playing: boolean) => void;
  /** How many times faster than it happened. */
  readonly speed: number;
  setSpeed: (speed: number) => void;
}

/** The position of a film that is moved and played. At the end it stays at the end while the session goes on. */
export function usePlay(reel: FilmReel): Play {
  const [position, setPosition] = useState(reel.first);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(4);
  const times = useMemo(() => new PlayTimes(reel.film.events), [reel.film]);
  const seek = useCallback((to: number) => setPosition(Math.max(0, Math.min(to, reel.last))), [reel]);
  const end = useRef(reel.last);
  useEffect(() => {
    const was = end.current;
    end.current = reel.last;
    setPosition((p) => (p === was && !playing ? reel.last : p));
  }, [reel, playing]);

  // The clock reads these at each frame: it must not begin again when the film grows or its speed changes.
  const latest = useRef({ position, speed, reel });
  latest.current = { position, speed, reel };
  useEffect(() => {
    if (!playing) return;
    const begin = latest.current;
    let from = Math.max(begin.position, begin.reel.before);
    if (from >= begin.reel.last) {
      from = begin.reel.before; // it begins again
      latest.current = { ...begin, position: from };
    }
    const head = new Playhead(times, from - begin.reel.before);
    let frame = requestAnimationFrame(function next(now) {
      const at = latest.current;
      const { before, last } = at.reel;
      const shown = Math.min(last, before + head.next(now, at.speed, Math.max(0, at.position - before)));
      setPosition(shown);
      latest.current = { ...at, position: shown };
      if (shown >= last) setPlaying(false);
      else frame = requestAnimationFrame(next);
    });
    return () => cancelAnimationFrame(frame);
  }, [playing, times]);
  return { position, seek, playing, setPlaying, speed, setSpeed };
}
