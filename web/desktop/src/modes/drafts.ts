// The rules of the modes page that need no browser.

import { draftOf, type Draft as RulesDraft, rulesOf } from "../sessions/rules.js";
import type { Mode, NewMode } from "../shell/api.js";

/** A mode as it is typed. */
export interface Draft {
  readonly name: string;
  readonly instructions: string;
  readonly toolProfile: string;
  readonly model: string;
  /** Whether the mode has rules of its own; `rules` are kept when it has not, in case that was a mistake. */
  readonly ownRules: boolean;
  readonly rules: RulesDraft;
}

/** The form of a mode; of a new one without a mode. */
export function modeDraft(m: Mode | undefined): Draft {
  return {
    name: m?.name ?? "",
    instructions: m?.instructions ?? "",
    toolProfile: m?.toolProfile ?? "all",
    model: m?.model ?? "",
    ownRules: m?.approval !== undefined,
    rules: draftOf(m?.approval),
  };
}

/** The mode of a form. */
export function modeOf(d: Draft): NewMode {
  return {
    name: d.name.trim(),
    instructions: d.instructions,
    toolProfile: d.toolProfile,
    model: d.model,
    ...(d.ownRules ? { approval: rulesOf(d.rules) } : {}),
  };
}

/** The maximum length of instructions, in bytes of UTF-8. */
const maxInstructions = 16 * 1024;

export function isTooLong(instructions: string): boolean {
  return new TextEncoder().encode(instructions).length > maxInstructions;
}

export function canSave(d: Draft): boolean {
  const name = [...d.name.trim()];
  return name.length > 0 && name.length <= 64 && !isTooLong(d.instructions);
}

/** Whether a mode is no longer as it was when the user began to change it. */
export function isChanged(before: Mode | undefined, now: Mode | undefined): boolean {
  return before !== undefined && JSON.stringify(before) !== JSON.stringify(now);
}

/** The choices of a field: those that are known, and the current one. */
export function withCurrent(known: readonly string[], current: string): string[] {
  return known.includes(current) ? [...known] : [...known, current];
}
