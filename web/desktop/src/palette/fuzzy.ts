// Fuzzy search: finds texts by some of their letters, with a score.

import { charMatches, queryVariants } from "./hangul.js";

export interface Match {
  /** Higher is better. */
  score: number;
  /** The indexes of the matched letters. */
  at: number[];
}

/** The match of a query in a text; undefined if a word of the query does not match. Words may be in any order. */
export function match(query: string, text: string): Match | undefined {
  const body = foldCase(text);
  let score = 0;
  const at: number[] = [];
  for (const word of foldCase(query).split(/\s+/)) {
    if (word === "") continue;
    const found = best(queryVariants(word).map((reading) => bestMatch(reading, body)));
    if (found === undefined) return undefined;
    score += found.score;
    at.push(...found.at);
  }
  return { score: score - body.length / 100, at: at.sort((a, b) => a - b) };
}

/** Lower-cases a text without changing its length, so that indexes stay valid. */
function foldCase(text: string): string {
  return [...text.normalize("NFC")].map((c) => (c.toLowerCase().length === c.length ? c.toLowerCase() : c)).join("");
}

function best(matches: (Match | undefined)[]): Match | undefined {
  return matches.reduce((a, b) => (b !== undefined && (a === undefined || b.score > a.score) ? b : a), undefined);
}

/** The best match of a word, over all starting positions. */
function bestMatch(word: string, text: string): Match | undefined {
  let found: Match | undefined;
  for (let from = 0; from <= text.length - word.length; from++) {
    if (!charMatches(word[0]!, text[from]!)) continue;
    const candidate = matchFrom(word, text, from);
    if (candidate === undefined) break;
    if (found === undefined || candidate.score > found.score) found = candidate;
  }
  return found;
}

function matchFrom(word: string, text: string, from: number): Match | undefined {
  const at: number[] = [];
  let score = 0;
  let next = from;
  for (const c of word) {
    let i = next;
    while (i < text.length && !charMatches(c, text[i]!)) i++;
    if (i === text.length) return undefined;
    // Starts of words and consecutive letters score more.
    if (beginsWord(text, i)) score += 3;
    if (at.length > 0) score += i === next ? 4 : -Math.min(i - next, 6) / 2;
    if (c === text[i]) score += 1;
    if (i === 0) score += 2;
    at.push(i);
    next = i + 1;
  }
  // Widely scattered letters do not match.
  return score > 0 ? { score, at } : undefined;
}

function beginsWord(text: string, i: number): boolean {
  return i === 0 || /[\s\-_/:.,(“"'·]/.test(text[i - 1]!);
}
