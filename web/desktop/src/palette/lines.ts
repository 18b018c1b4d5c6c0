import type { Combo } from "../ui/keys.js";

/** A line of the help: an action and its shortcuts. */
export interface HelpLine {
  text: string;
  combos: Combo[];
}

/** The lines of the help; shortcuts with the same text share a line. */
export function linesOf(keys: readonly { combo: Combo; text: string }[]): HelpLine[] {
  const lines = new Map<string, HelpLine>();
  for (const { combo, text } of keys) {
    const line = lines.get(text) ?? { text, combos: [] };
    lines.set(text, line);
    line.combos.push(combo);
  }
  return [...lines.values()].map((line) => ({ ...line, combos: rangeOf(line.combos) }));
}

/** Joins consecutive digits: Alt+1, Alt+2, Alt+3 become Alt+1…3. */
function rangeOf(combos: Combo[]): Combo[] {
  const [first = "", last = ""] = [combos[0], combos.at(-1)];
  const inRow = combos.every((c, i) => c.slice(0, -1) === first.slice(0, -1) && c.at(-1) === String(Number(first.at(-1)) + i));
  return combos.length > 2 && inRow ? [`${first}…${last.at(-1)}`] : combos;
}
