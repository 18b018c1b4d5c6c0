// Korean, as far as searching needs it: a text can be found by the first consonants of its syllables (초성), and while the
// last syllable of what is typed is still being put together.

const first = 0xac00;
const last = 0xd7a3;
const finals = 28;
const vowels = 21;

const initials = [..."ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"];
/** What a syllable may end with; a cluster is what stays and what would go on to the next syllable. */
const endings = ["", "ㄱ", "ㄲ", "ㄱㅅ", "ㄴ", "ㄴㅈ", "ㄴㅎ", "ㄷ", "ㄹ", "ㄹㄱ", "ㄹㅁ", "ㄹㅂ", "ㄹㅅ", "ㄹㅌ", "ㄹㅍ", "ㄹㅎ", "ㅁ", "ㅂ", "ㅂㅅ", "ㅅ", "ㅆ", "ㅇ", "ㅈ", "ㅊ", "ㅋ", "ㅌ", "ㅍ", "ㅎ"];
/** Two consonants that a keyboard puts into one sign. */
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

/** Whether a sign that was typed can stand for one of a text: the same, its first consonant, or its beginning. */
export function standsFor(typed: string, c: string): boolean {
  if (typed === c) return true;
  const of = syllable(c);
  if (of === undefined) return false;
  const by = syllable(typed);
  return by === undefined ? typed === of.initial : by.ending === 0 && by.initial === of.initial && by.vowel === of.vowel;
}

/** What may be meant by what was typed: its last consonant may be the beginning of the next syllable, as in 슼 for 스크. */
export function readings(typed: string): string[] {
  const spread = typed.replace(/[ㄳㄵㄶㄺ-ㅀㅄ]/g, (c) => clusters[c] ?? c);
  const end = syllable(spread.at(-1) ?? "");
  if (end === undefined || end.ending === 0) return [spread];
  const parts = [...endings[end.ending]!];
  const next = parts.pop()!;
  const kept = parts.length === 0 ? 0 : endings.indexOf(parts[0]!);
  const code = spread.charCodeAt(spread.length - 1) - end.ending + kept;
  return [spread, spread.slice(0, -1) + String.fromCharCode(code) + next];
}
