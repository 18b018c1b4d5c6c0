import type { ReactNode } from "react";
import type { WindowState } from "../../../core/src/index.js";

/** What a window shows. It fills its parent, scrolls by itself and must be given the newest state of the window. */
export function Content({ window }: { window: WindowState }): ReactNode {
  return <pre>{JSON.stringify(window.content)}</pre>;
}

/** Formatted text of an agent, as the conversation shows it too. While it streams, only its end is read anew. */
export function Markdown({ text }: { text: string; streaming?: boolean }): ReactNode {
  return <pre>{text}</pre>;
}
