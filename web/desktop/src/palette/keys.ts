import { matches } from "../ui/keys.js";
import { type Action, actions } from "./actions.js";

export interface Where {
  /** The focus is in a field for text. */
  typing: boolean;
  /** A modal is open, which keeps all keys but its own way out. */
  inModal: boolean;
  onMac: boolean;
}

/** What a key does. */
export function actionFor(e: KeyboardEvent, where: Where): Action | undefined {
  const action = actions.find((a) => a.combo !== undefined && matches(e, a.combo));
  if (action?.combo === undefined) return undefined;
  if (where.inModal && action.id !== "open.palette") return undefined;
  if (where.typing && isText(action.combo, where.onMac)) return undefined;
  return action;
}

/** Whether a combination writes something: a plain sign does, and on a Mac also one with Alt. */
function isText(combo: string, mac: boolean): boolean {
  const key = combo.split("+").at(-1)!;
  return key.length === 1 && !combo.includes("mod+") && (mac || !combo.includes("alt+"));
}
