// Reads the film of a session: the state at its beginning, and the log page by page.

import { decodeEvent, type Position, type SessionID, type SessionState, type WindowState } from "../../../core/src/index.js";
import { type Api, ApiError } from "../shell/api.js";
import { Film } from "./film.js";

/** Where the film of a session begins. */
interface FilmStart {
  /** The position after which the events of the film are. */
  after: Position;
  /** The state there; absent if the film begins with the session. */
  state?: SessionState;
}

interface EventPage {
  events: unknown[];
  next: Position;
  top: Position;
  /** Whether the hub left out events that the log no longer has, as it does for admins. */
  trimmed?: boolean;
}

/** A saved state from before the film: only its windows are known. */
export interface Earlier {
  readonly hash: string;
  readonly time: number;
}

/** The number of events per request. */
const pageSize = 1000;
/** The log may lose its oldest events while they are read. Then it is read again, this many times. */
const maxTries = 3;
const trimmed = 410;

/** Whether a read failed because the log no longer has the events. */
export const isTrimmed = (error: unknown): boolean => (error as { status?: number }).status === trimmed;

/** Reads a film. `onProgress` gets the number of events that were read. */
export async function loadFilm(api: Api, session: SessionID, onProgress: (events: number) => void, signal: AbortSignal): Promise<Film> {
  for (let tries = 1; ; tries++) {
    try {
      return await readFilm(api, session, onProgress, signal);
    } catch (error) {
      if (!isTrimmed(error) || tries >= maxTries) throw error;
    }
  }
}

async function readFilm(api: Api, session: SessionID, onProgress: (events: number) => void, signal: AbortSignal): Promise<Film> {
  const path = `/api/sessions/${encodeURIComponent(session)}`;
  const start = await api.ask<FilmStart>("GET", `${path}/film`);
  const film = new Film(start.state);
  await readOn(api, session, film, start.after, onProgress, signal);
  return film;
}

/** Adds the events after a position to a film. It fails with the status 410 if the log no longer has all of them. */
export async function readOn(api: Api, session: SessionID, film: Film, from: Position, onProgress: (events: number) => void, signal: AbortSignal): Promise<void> {
  for (let after = from; ; ) {
    signal.throwIfAborted();
    const query = new URLSearchParams({ limit: String(pageSize), ...(after === "0-0" ? {} : { after }) });
    const page = await api.ask<EventPage>("GET", `/api/sessions/${encodeURIComponent(session)}/events?${query}`);
    if (page.trimmed === true) throw new ApiError(trimmed, 0, "");
    film.append(page.events.flatMap((e) => decodeEvent(JSON.stringify(e)) ?? []));
    onProgress(film.length);
    if (page.next === after || page.next === page.top) return;
    after = page.next;
  }
}

/** The address of a file in a saved state. */
export function savedFileURL(session: SessionID, hash: string, path: string): string {
  return `/api/sessions/${encodeURIComponent(session)}/checkpoints/${hash}/files/${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** The saved states from before a time, oldest first. A hub without checkpoints has none. */
export async function loadEarlier(api: Api, session: SessionID, before: number): Promise<Earlier[]> {
  interface Listed {
    checkpoints: { hash: string; savedAt: string }[];
  }
  const { checkpoints } = await api.ask<Listed>("GET", `/api/sessions/${encodeURIComponent(session)}/checkpoints`);
  return checkpoints.map(({ hash, savedAt }) => ({ hash, time: Date.parse(savedAt) })).filter((c) => c.time < before);
}

/** The windows of a saved state. */
export async function loadWindows(api: Api, session: SessionID, hash: string): Promise<WindowState[]> {
  const { windows } = await api.ask<{ windows: WindowState[] }>("GET", `/api/sessions/${encodeURIComponent(session)}/checkpoints/${hash}/windows`);
  return windows;
}
