import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type DesktopState, emptyDesktop, type Position, windowKey } from "../../../core/src/index.js";
import { useCommands, useEvents, useShell } from "../shell/context.js";
import { FilmFeed } from "./feed.js";
import type { Film } from "./film.js";
import { type Earlier, loadEarlier, loadWindows } from "./load.js";
import { type Mark, markOf } from "./timeline.js";

/**
 * The moments of a session in one sequence: first the saved states from before the film, then the moments of the film. All positions
 * count from the first of them.
 */
export interface FilmReel {
  readonly state: "ready";
  readonly film: Film;
  /** The number of saved states before the film. */
  readonly before: number;
  /** The last position. */
  readonly last: number;
  /** By position. */
  readonly marks: readonly Mark[];
  /** The position to begin with. */
  readonly first: number;
  desktopAt(position: number): DesktopState;
  /** The time of a position; undefined at the beginning of the session. */
  timeAt(position: number): number | undefined;
  /** Whether a position is a saved state, of which only windows are known. */
  isEarlier(position: number): boolean;
  /** The place of a position in the log, for links; empty for saved states. */
  positionAt(position: number): Position | "";
}

type Loading = { readonly state: "loading"; readonly read: number } | { readonly state: "failed"; readonly why: string; again: () => void } | FilmReel;

interface Loaded {
  readonly film: Film;
  readonly earlier: readonly Earlier[];
}

/** Reads the film of the session. It grows while the session goes on. */
export function useFilm(): Loading {
  const { api } = useCommands();
  const session = useShell((s) => s.session);
  const [tries, setTries] = useState(0);
  const [read, setRead] = useState(0);
  const [why, setWhy] = useState("");
  const [loaded, setLoaded] = useState<Loaded>();
  const [length, setLength] = useState(0);
  const again = useCallback(() => {
    setWhy("");
    setTries((n) => n + 1);
  }, []);
  const feed = useRef<FilmFeed>(undefined);
  useEffect(() => {
    const stop = new AbortController();
    setRead(0);
    setLoaded(undefined);
    // It hears from now on, so that no event is missed while the log is read.
    let film: Film | undefined;
    const mine = new FilmFeed(api, session, () => film !== undefined && setLength(film.length), stop.signal);
    feed.current = mine;
    const load = async (): Promise<void> => {
      film = await mine.load((n) => stop.signal.aborted || setRead(n));
      const earlier = await loadEarlier(api, session, film.events[0]?.time ?? Date.now()).catch(() => []);
      if (stop.signal.aborted) return;
      setLength(film.length);
      setLoaded({ film, earlier });
    };
    load().catch((e: unknown) => stop.signal.aborted || setWhy(e instanceof Error ? e.message : String(e)));
    return () => stop.abort();
  }, [api, session, tries]);
  useEvents((e) => feed.current?.hear(e));

  const windows = useEarlierWindows();
  const { of } = windows;
  const marks = useMarks(loaded);
  return useMemo(() => {
    if (why !== "") return { state: "failed", why, again };
    if (loaded === undefined) return { state: "loading", read };
    const { film, earlier } = loaded;
    const before = earlier.length;
    const moment = (position: number): number => position - before;
    const link = new URLSearchParams(location.search).get("film") ?? "";
    return {
      state: "ready",
      film,
      before,
      last: before + length,
      marks: marks(length),
      first: before + (/^\d+-\d+$/.test(link) ? film.momentOf(link) : length),
      desktopAt: (p) => (p < before ? of(earlier[p]!) : film.stateAt(moment(p))),
      timeAt: (p) => (p < before ? earlier[p]!.time : moment(p) === 0 ? undefined : film.events[moment(p) - 1]?.time),
      isEarlier: (p) => p < before,
      positionAt: (p) => (p < before ? "" : (film.events[moment(p) - 1]?.at ?? "0-0")),
    };
  }, [why, again, loaded, read, length, of, marks]);
}

/** Finds the marks of the film, each event once. */
function useMarks(loaded: Loaded | undefined): (length: number) => readonly Mark[] {
  return useMemo(() => {
    const before = loaded?.earlier.length ?? 0;
    let found: readonly Mark[] = (loaded?.earlier ?? []).map(({ hash, time }, i) => ({ moment: i, time, kind: "checkpoint", text: "", monitorId: "monitor-0", hash }));
    let seen = 0;
    return (length) => {
      const fresh: Mark[] = [];
      for (; seen < length; seen++) {
        const mark = markOf(loaded!.film.events[seen]!, before + seen + 1);
        if (mark !== undefined) fresh.push(mark);
      }
      if (fresh.length > 0) found = [...found, ...fresh];
      return found;
    };
  }, [loaded]);
}

/** The windows of saved states. A state is read when it is first shown; until then it has none. */
function useEarlierWindows(): { of: (earlier: Earlier) => DesktopState } {
  const { api } = useCommands();
  const session = useShell((s) => s.session);
  const [known, setKnown] = useState<ReadonlyMap<string, DesktopState>>(new Map());
  const asked = useRef(new Set<string>());
  return useMemo(
    () => ({
      of: ({ hash }) => {
        const state = known.get(hash);
        if (state === undefined && !asked.current.has(hash)) {
          asked.current.add(hash);
          void loadWindows(api, session, hash).then(
            (windows) => {
              const desktop = { ...emptyDesktop(), windows: new Map(windows.map((w) => [windowKey(w.monitorId, w.windowId), w])) };
              setKnown((all) => new Map(all).set(hash, desktop));
            },
            () => asked.current.delete(hash),
          );
        }
        return state ?? nothing;
      },
    }),
    [api, session, known],
  );
}

const nothing = emptyDesktop();
