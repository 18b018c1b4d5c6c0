// Who is looking, as small round faces.

import type { Connection } from "../../../core/src/index.js";

export interface Face {
  readonly id: string;
  readonly initials: string;
  /** Which of the colours; the same person always has the same. */
  readonly tint: number;
  readonly own: boolean;
  readonly user: string;
  readonly since: number;
  /** How many tabs the face stands for. */
  readonly tabs: number;
}

/** How many colours there are. */
export const tints = 6;

/** The faces of the connections, this tab's first, and how many more there are than `most`. */
export function facesOf(presence: readonly Connection[], total: number, clientId: string, most: number): { faces: Face[]; more: number } {
  const all = presence.map((c): Face => {
    const user = c.user ?? "";
    return {
      id: c.connectionId,
      initials: initialsOf(user),
      tint: tintOf(user === "" ? (c.clientId ?? c.connectionId) : user),
      own: clientId !== "" && c.clientId === clientId,
      user,
      since: c.since ?? 0,
      tabs: 1,
    };
  });
  all.sort((a, b) => Number(b.own) - Number(a.own) || a.since - b.since || (a.id < b.id ? -1 : 1));
  const faces = all.slice(0, most);
  return { faces, more: Math.max(total, presence.length) - faces.length };
}

/** One face for all the tabs of a person. Somebody without a name is a person for each tab. */
export function peopleOf(presence: readonly Connection[], total: number, clientId: string, most: number): { faces: Face[]; more: number } {
  const people = new Map<string, Face>();
  for (const face of facesOf(presence, total, clientId, presence.length).faces) {
    const person = face.user === "" ? face.id : `user ${face.user}`;
    const known = people.get(person);
    people.set(person, known === undefined ? face : { ...known, tabs: known.tabs + 1 });
  }
  const faces = [...people.values()].slice(0, most);
  return { faces, more: Math.max(total, presence.length) - faces.reduce((sum, f) => sum + f.tabs, 0) };
}

/** One or two letters for a name: the first of its first and last word, or of what stands before an @. */
export function initialsOf(name: string): string {
  const parts = name.normalize("NFC").split("@")[0]!.split(/[\s._:/-]+/).filter((p) => p !== "");
  if (parts.length === 0) return "?";
  const first = [...parts[0]!][0]!;
  // One syllable of Hangul or one other wide character says as much as two letters.
  if (parts.length === 1 || /[^\u0000-\u024f]/.test(first)) return first.toUpperCase();
  return (first + [...parts.at(-1)!][0]!).toUpperCase();
}

export function tintOf(text: string): number {
  let h = 2166136261;
  for (const c of text) h = Math.imul(h ^ c.codePointAt(0)!, 16777619);
  return (h >>> 0) % tints;
}
