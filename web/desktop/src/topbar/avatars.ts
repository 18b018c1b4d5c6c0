// The avatars of the connected users.

import type { Connection } from "../../../core/src/index.js";

export interface Avatar {
  readonly id: string;
  readonly initials: string;
  /** The index of the colour; a user always has the same. */
  readonly tint: number;
  readonly own: boolean;
  readonly user: string;
  readonly since: number;
  /** The number of tabs that the avatar represents. */
  readonly tabs: number;
}

/** The number of colours. */
export const tints = 6;

/** The avatars of the connections, this tab first, and the number of connections beyond `max`. */
export function avatarsOf(presence: readonly Connection[], total: number, clientId: string, max: number): { faces: Avatar[]; more: number } {
  const all = presence.map((c): Avatar => {
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
  const faces = all.slice(0, max);
  return { faces, more: Math.max(total, presence.length) - faces.length };
}

/** One avatar for all tabs of a user. Tabs without a user name are separate. */
export function userAvatars(presence: readonly Connection[], total: number, clientId: string, max: number): { faces: Avatar[]; more: number } {
  const people = new Map<string, Avatar>();
  for (const face of avatarsOf(presence, total, clientId, presence.length).faces) {
    const person = face.user === "" ? face.id : `user ${face.user}`;
    const known = people.get(person);
    people.set(person, known === undefined ? face : { ...known, tabs: known.tabs + 1 });
  }
  const faces = [...people.values()].slice(0, max);
  return { faces, more: Math.max(total, presence.length) - faces.reduce((sum, f) => sum + f.tabs, 0) };
}

/** The initials of a name: of its first and last word, or of the part before an @. */
export function initialsOf(name: string): string {
  const parts = name.normalize("NFC").split("@")[0]!.split(/[\s._:/-]+/).filter((p) => p !== "");
  if (parts.length === 0) return "?";
  const first = [...parts[0]!][0]!;
  // One syllable of Hangul, or another wide character, is as distinctive as two letters.
  if (parts.length === 1 || /[^\u0000-\u024f]/.test(first)) return first.toUpperCase();
  return (first + [...parts.at(-1)!][0]!).toUpperCase();
}

export function tintOf(text: string): number {
  let h = 2166136261;
  for (const c of text) h = Math.imul(h ^ c.codePointAt(0)!, 16777619);
  return (h >>> 0) % tints;
}
