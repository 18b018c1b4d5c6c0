// What is chosen and typed as the answer to a prompt.

import type { OpenPrompt } from "../../../core/src/index.js";

/** What is chosen after a press on an option. */
export function chosenAfter(chosen: readonly string[], value: string, many: boolean): string[] {
  if (!many) return [value];
  return chosen.includes(value) ? chosen.filter((v) => v !== value) : [...chosen, value];
}

/** Whether there is something to send, as the hub will take it. */
export function isAnswer(p: OpenPrompt, chosen: readonly string[], text: string): boolean {
  const options = p.options ?? [];
  if (options.length === 0 && p.inputField === undefined) return true;
  return chosen.some((v) => options.some((o) => o.value === v)) || (p.inputField !== undefined && text.trim() !== "");
}
