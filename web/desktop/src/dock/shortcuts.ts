// What the keys do in the command bar, for the sheet that lists all shortcuts.

import { dock as texts } from "../texts/entry.js";
import type { Combo } from "../ui/keys.js";

export interface ShortcutHelp {
  readonly combo: Combo;
  /** What it does, by language. */
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
