// Korean in the search: a text is found by the initial consonants of its syllables (초성), and while the last syllable of
// the query is still being composed.

const first = 0xac00;
const last = 0xd7a3;
const finals = 28;
const vowels = 21;

const initials = [..."ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"];
/** The final consonants of a syllable; of a cluster, the second consonant may move to the next syllable. */
const endings = ["", "ㄱ", "ㄲ", "ㄱㅅ", "ㄴ", "ㄴㅈ", "ㄴㅎ", "ㄷ", "ㄹ", "ㄹㄱ", "ㄹㅁ", "ㄹㅂ", "ㄹㅅ", "ㄹㅌ", "ㄹㅍ", "ㄹㅎ", "ㅁ", "ㅂ", "ㅂㅅ", "ㅅ", "ㅆ", "ㅇ", "ㅈ", "ㅊ", "ㅋ", "ㅌ", "ㅍ", "ㅎ"];
/** Consonant clusters that a keyboard writes as one character. */
const clusters: Record<string, string> = { ㄳ: "ㄱㅅ", ㄵ: "ㄴㅈ", ㄶ: "ㄴㅎ", ㄺ: "ㄹㄱ", ㄻ: "ㄹㅁ", ㄼ: "ㄹㅂ", ㄽ: "ㄹㅅ", ㄾ: "ㄹㅌ", ㄿ: "ㄹㅍ", ㅀ: "ㄹㅎ", ㅄ: "ㅂㅅ" };

interface Syllable {
  initial: string;
  vowel: number;
  ending: number;
}

function syllable(c: string): Syllable | undefined {
  const code = c.charCodeAt(0);
  if (code < first || code > last) return undefined;
  const n = code - first;
  return { initial: initials[Math.floor(n / (finals * vowels))]!, vowel: Math.floor(n / finals) % vowels, ending: n % finals };
}

/**
 * Whether a typed character matches a character of a text: it is equal, its initial consonant, or its syllable without
 * the final consonant.
 */
export function charMatches(typed: string, c: string): boolean {
  if (typed === c) return true;
  const of = syllable(c);
  if (of === undefined) return false;
  const by = syllable(typed);
  return by === undefined ? typed === of.initial : by.ending === 0 && by.initial === of.initial && by.vowel === of.vowel;
}

/** The possible meanings of a query: its final consonant may be the initial of the next syllable, as in 슼 for 스크. */
export function queryVariants(typed: string): string[] {
  const expanded = typed.replace(/[ㄳㄵㄶㄺ-ㅀㅄ]/g, (c) => clusters[c] ?? c);
  const end = syllable(expanded.at(-1) ?? "");
  if (end === undefined || end.ending === 0) return [expanded];
  const parts = [...endings[end.ending]!];
  const next = parts.pop()!;
  const kept = parts.length === 0 ? 0 : endings.indexOf(parts[0]!);
  const code = expanded.charCodeAt(expanded.length - 1) - end.ending + kept;
  return [expanded, expanded.slice(0, -1) + String.fromCharCode(code) + next];
}
