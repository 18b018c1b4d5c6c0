import type { Shortcut } from "../../../core/src/index.js";

/** What an agent is told when an icon is clicked. What is in the shortcut cannot end the text early. */
export function clickText(s: Pick<Shortcut, "id" | "type" | "target">): string {
  const plain = (text: string): string => text.replaceAll("<", "&lt;");
  return `<ui:click>shortcut: ${plain(s.id)}, type: ${s.type}, target: ${plain(s.target)}</ui:click>`;
}
