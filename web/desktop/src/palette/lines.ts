import type { Combo } from "../ui/keys.js";

/** A line of the help: what is done, and the keys that do it. */
export interface HelpLine {
  text: string;
  combos: Combo[];
}

/** Keys that do the same are one line. */
export function linesOf(keys: readonly { combo: Combo; text: string }[]): HelpLine[] {
  const lines = new Map<string, HelpLine>();
  for (const { combo, text } of keys) {
    const line = lines.get(text) ?? { text, combos: [] };
    lines.set(text, line);
    line.combos.push(combo);
  }
  return [...lines.values()].map((line) => ({ ...line, combos: rangeOf(line.combos) }));
}

/** Alt+1, Alt+2, Alt+3 are one key to read: Alt+1…3. */
function rangeOf(combos: Combo[]): Combo[] {
  const [first = "", last = ""] = [combos[0], combos.at(-1)];
  const inRow = combos.every((c, i) => c.slice(0, -1) === first.slice(0, -1) && c.at(-1) === String(Number(first.at(-1)) + i));
  return combos.length > 2 && inRow ? [`${first}…${last.at(-1)}`] : combos;
}
