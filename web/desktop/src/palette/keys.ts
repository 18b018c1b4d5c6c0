import { matches } from "../ui/keys.js";
import { type Action, actions } from "./actions.js";

export interface KeyContext {
  /** Whether the focus is in a text field. */
  typing: boolean;
  /** Whether a modal is open; only the shortcut of the palette works then. */
  inModal: boolean;
  onMac: boolean;
}

/** The action of a key press. */
export function actionFor(e: KeyboardEvent, where: KeyContext): Action | undefined {
  const action = actions.find((a) => a.combo !== undefined && matches(e, a.combo));
  if (action?.combo === undefined) return undefined;
  if (where.inModal && action.id !== "open.palette") return undefined;
  if (where.typing && (action.notTyping === true || isText(action.combo, where.onMac))) return undefined;
  return action;
}

/** Whether a combination enters text: a plain character does, and on a Mac also one with Alt. */
function isText(combo: string, mac: boolean): boolean {
  const key = combo.split("+").at(-1)!;
  return key.length === 1 && !combo.includes("mod+") && (mac || !combo.includes("alt+"));
}
