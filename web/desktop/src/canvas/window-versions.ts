// The versions of a window in a film. Pure.

import type { Content } from "../../../core/src/index.js";
import type { Film } from "../film/film.js";

export interface Version {
  /** The moment of the film after which the window shows it. */
  readonly moment: number;
  readonly time: number;
  readonly title: string;
  readonly content: Content;
}

/** Changes that follow each other within this time are one version, in ms: text that streams in is not worth a version per piece. */
const sameVersion = 3000;
const maxVersions = 100;

/** What a window showed, the newest first. */
export function versionsOf(film: Pick<Film, "length" | "events" | "stateAt">, key: string): Version[] {
  const versions: Version[] = [];
  let before: Content | undefined;
  for (let moment = 1; moment <= film.length; moment++) {
    const w = film.stateAt(moment).windows.get(key);
    if (w === undefined || w.content === before) continue;
    before = w.content;
    const time = film.events[moment - 1]!.time;
    const last = versions.at(-1);
    if (last !== undefined && time - last.time < sameVersion) versions.pop();
    versions.push({ moment, time, title: w.title, content: w.content });
  }
  return versions.slice(-maxVersions).reverse();
}
