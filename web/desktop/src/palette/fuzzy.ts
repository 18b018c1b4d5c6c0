// Finds texts by some of their letters, and says how well they fit.

import { readings, standsFor } from "./hangul.js";

export interface Match {
  /** The more, the better. */
  score: number;
  /** The letters of the text that were meant. */
  at: number[];
}

/** How a query fits a text, or undefined when it does not. Every word of it must be there, in any order. */
export function match(query: string, text: string): Match | undefined {
  const body = fold(text);
  let score = 0;
  const at: number[] = [];
  for (const word of fold(query).split(/\s+/)) {
    if (word === "") continue;
    const found = best(readings(word).map((reading) => find(reading, body)));
    if (found === undefined) return undefined;
    score += found.score;
    at.push(...found.at);
  }
  return { score: score - body.length / 100, at: at.sort((a, b) => a - b) };
}

/** Of the same length as the text, so that places stay right. */
function fold(text: string): string {
  return [...text.normalize("NFC")].map((c) => (c.toLowerCase().length === c.length ? c.toLowerCase() : c)).join("");
}

function best(matches: (Match | undefined)[]): Match | undefined {
  return matches.reduce((a, b) => (b !== undefined && (a === undefined || b.score > a.score) ? b : a), undefined);
}

/** The best of the ways through a text, from each place where it can begin. */
function find(word: string, text: string): Match | undefined {
  let found: Match | undefined;
  for (let from = 0; from <= text.length - word.length; from++) {
    if (!standsFor(word[0]!, text[from]!)) continue;
    const way = walk(word, text, from);
    if (way === undefined) break;
    if (found === undefined || way.score > found.score) found = way;
  }
  return found;
}

function walk(word: string, text: string, from: number): Match | undefined {
  const at: number[] = [];
  let score = 0;
  let next = from;
  for (const c of word) {
    let i = next;
    while (i < text.length && !standsFor(c, text[i]!)) i++;
    if (i === text.length) return undefined;
    // Beginnings of words and letters in a row are what people type.
    if (beginsWord(text, i)) score += 3;
    if (at.length > 0) score += i === next ? 4 : -Math.min(i - next, 6) / 2;
    if (c === text[i]) score += 1;
    if (i === 0) score += 2;
    at.push(i);
    next = i + 1;
  }
  // Letters that are strewn over a text are no match that anybody meant.
  return score > 0 ? { score, at } : undefined;
}

function beginsWord(text: string, i: number): boolean {
  return i === 0 || /[\s\-_/:.,(“"'·]/.test(text[i - 1]!);
}
