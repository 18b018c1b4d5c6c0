// The shortcuts of the command bar, for the list of all shortcuts.

import { dock as texts } from "../texts/entry.js";
import type { Combo } from "../ui/keys.js";

export interface ShortcutHelp {
  readonly combo: Combo;
  /** The description by language. */
  readonly text: { readonly en: string; readonly ko: string };
}

function help(combo: Combo, key: "keyFocus" | "keySend" | "keyLine" | "keyOlder" | "keyNewer" | "keyStop"): ShortcutHelp {
  return { combo, text: { en: texts.en[key], ko: texts.ko[key] } };
}

export const dockShortcuts: readonly ShortcutHelp[] = [
  help("/", "keyFocus"),
  help("enter", "keySend"),
  help("shift+enter", "keyLine"),
  help("arrowup", "keyOlder"),
  help("arrowdown", "keyNewer"),
  help("escape", "keyStop"),
];
