import type { Shortcut } from "../../../core/src/index.js";

/**
 * The message to the agent for a click on an icon. It escapes "<", so that values of the shortcut cannot end the tag.
 */
export function clickText(s: Pick<Shortcut, "id" | "type" | "target">): string {
  const escapeTag = (text: string): string => text.replaceAll("<", "&lt;");
  return `<ui:click>shortcut: ${escapeTag(s.id)}, type: ${s.type}, target: ${escapeTag(s.target)}</ui:click>`;
}

/**
 * The index of the icon that a key moves the focus to; undefined for other keys and at the edge. Icons are in columns, so up and
 * down follow the order, and left and right find the nearest icon in the next column.
 */
export function iconAfterKey(key: string, icons: readonly { left: number; top: number }[], at: number): number | undefined {
  const from = icons[at];
  if (from === undefined) return undefined;
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: icons.length - 1 }[key];
  if (to !== undefined) return icons[to] === undefined ? undefined : to;
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
  if (step === undefined) return undefined;
  let best: number | undefined;
  const distance = (i: number): number => Math.abs(icons[i]!.left - from.left) * 1e4 + Math.abs(icons[i]!.top - from.top);
  for (const [i, icon] of icons.entries()) {
    if ((icon.left - from.left) * step > 0 && (best === undefined || distance(i) < distance(best))) best = i;
  }
  return best;
}
