import type { Shortcut } from "../../../core/src/index.js";

/**
 * The message to the agent for a click on an icon. It escapes "<", so that values of the shortcut cannot end the tag.
 */
export function clickText(s: Pick<Shortcut, "id" | "type" | "target">): string {
  const escapeTag = (text: string): string => text.replaceAll("<", "&lt;");
  return `<ui:click>shortcut: ${escapeTag(s.id)}, type: ${s.type}, target: ${escapeTag(s.target)}</ui:click>`;
}
