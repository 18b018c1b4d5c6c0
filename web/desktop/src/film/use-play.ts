import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { momentAt, playTimes } from "./timeline.js";
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
  const times = useMemo(() => playTimes(reel.film.events.slice(0, reel.last - reel.before)), [reel]);
  const seek = useCallback((to: number) => setPosition(Math.max(0, Math.min(to, reel.last))), [reel]);
  const end = useRef(reel.last);
  useEffect(() => {
    const was = end.current;
    end.current = reel.last;
    setPosition((p) => (p === was && !playing ? reel.last : p));
  }, [reel, playing]);

  const latest = useRef(position);
  latest.current = position;
  useEffect(() => {
    if (!playing) return;
    let from = Math.max(latest.current, reel.before);
    if (from >= reel.last) from = reel.before; // it begins again
    let time = times[from - reel.before]!;
    let at: number | undefined;
    let shown = from;
    let frame = requestAnimationFrame(function next(now) {
      // The user may have moved it meanwhile.
      if (latest.current !== shown && at !== undefined) time = times[Math.max(0, latest.current - reel.before)]!;
      time += (now - (at ?? now)) * speed;
      at = now;
      shown = reel.before + momentAt(times, time);
      setPosition(shown);
      latest.current = shown;
      if (shown >= reel.last) setPlaying(false);
      else frame = requestAnimationFrame(next);
    });
    return () => cancelAnimationFrame(frame);
  }, [playing, speed, reel, times]);
  return { position, seek, playing, setPlaying, speed, setSpeed };
}
