// Joins the two sources of a film, the stored log and the events that arrive, without a gap and without repeats.

import type { HubEvent, SessionID } from "../../../core/src/index.js";
import type { Api } from "../shell/api.js";
import type { Film } from "./film.js";
import { isTrimmed, loadFilm, readOn } from "./load.js";

/** The most events that wait for the log. If more arrive, the log is read again. */
export const maxWaiting = 5000;

export class FilmFeed {
  private film: Film | undefined;
  /** Events that arrived while the log is read; undefined while none is missing before the next one. */
  private waiting: HubEvent[] | undefined = [];
  /** Whether events are missing that only the log has. */
  private missing = false;
  private reading = true;
  /** Whether the log has lost events that are missing. The film ends there. */
  private ended = false;

  private readonly api: Api;
  private readonly session: SessionID;
  private readonly onGrow: () => void;
  private readonly signal: AbortSignal;

  /** `onGrow` is called after events were added to a film that is loaded. */
  constructor(api: Api, session: SessionID, onGrow: () => void, signal: AbortSignal) {
    this.api = api;
    this.session = session;
    this.onGrow = onGrow;
    this.signal = signal;
  }

  /** Reads the film. It has all events of the log, and those that arrived since the feed was made. */
  async load(onProgress: (events: number) => void): Promise<Film> {
    const film = await loadFilm(this.api, this.session, onProgress, this.signal);
    this.film = film;
    await this.join(film);
    return film;
  }

  /** Takes an event of the session in the order in which the page receives them. */
  hear(e: HubEvent): void {
    if (this.ended || this.signal.aborted) return;
    if (e.type === "session_state") {
      // Events are missing between those before a snapshot and those after it.
      if (e.data.mode !== "snapshot") return;
      this.missing = true;
      this.waiting = [];
    } else if (this.waiting === undefined) {
      this.film!.append([e]);
      this.onGrow();
      return;
    } else if (this.waiting.push(e) > maxWaiting) {
      this.missing = true;
      this.waiting = [];
    }
    if (this.film === undefined || this.reading) return;
    this.reading = true;
    void this.join(this.film).then(() => this.signal.aborted || this.onGrow());
  }

  /** Adds what is missing and what waits. After a failure, the next event tries again. */
  private async join(film: Film): Promise<void> {
    try {
      while (this.missing) {
        this.missing = false;
        await readOn(this.api, this.session, film, film.endAt, () => undefined, this.signal);
      }
      film.append(this.waiting ?? []);
      this.waiting = undefined;
    } catch (error) {
      this.missing = true;
      this.ended = isTrimmed(error);
    } finally {
      this.reading = false;
    }
  }
}
