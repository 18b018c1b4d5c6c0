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
  return [...lines.values()];
}
