// What an icon on the desktop shows and says.

import type { Shortcut } from "../../../core/src/index.js";

/** What an agent is told when an icon is clicked. What is in the shortcut cannot end the text early. */
export function clickText(s: Pick<Shortcut, "id" | "type" | "target">): string {
  const plain = (text: string): string => text.replaceAll("<", "&lt;");
  return `<ui:click>shortcut: ${plain(s.id)}, type: ${s.type}, target: ${plain(s.target)}</ui:click>`;
}

/** The address of a picture that may be loaded: one of the session's files, or one that is written out. */
export function iconSource(icon: string): string | undefined {
  return /^(data:image\/(png|jpeg|gif|webp);|blob:|\/(api|files)\/(?!\/))/.test(icon) ? icon : undefined;
}

/** An address that a browser tab may be opened with, as the browser understands it. */
export function webAddress(text: string): string | undefined {
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : undefined;
  } catch {
    return undefined;
  }
}
