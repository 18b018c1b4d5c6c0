// The selection and text that answer a prompt.

import type { OpenPrompt } from "../../../core/src/index.js";

/** The selected values after a press on an option. */
export function toggleOption(chosen: readonly string[], value: string, many: boolean): string[] {
  if (!many) return [value];
  return chosen.includes(value) ? chosen.filter((v) => v !== value) : [...chosen, value];
}

/** Whether there is an answer that the hub accepts. */
export function hasAnswer(p: OpenPrompt, chosen: readonly string[], text: string): boolean {
  const options = p.options ?? [];
  if (options.length === 0 && p.inputField === undefined) return true;
  return chosen.some((v) => options.some((o) => o.value === v)) || (p.inputField !== undefined && text.trim() !== "");
}
