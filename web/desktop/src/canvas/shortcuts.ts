import type { canvas as texts } from "../texts/entry.js";
import type { Combo } from "../ui/keys.js";

/** A key of the canvas, with the name of its text in words.ts. */
export interface CanvasShortcut {
  readonly id: string;
  readonly combo: Combo;
  readonly label: keyof (typeof texts)["en"];
}

/** The keys that work wherever the focus is, but in texts that are typed only some. */
export const canvasShortcuts = [
  { id: "window.next", combo: "alt+backquote", label: "keyNext" },
  { id: "window.previous", combo: "alt+shift+backquote", label: "keyPrevious" },
  { id: "window.left", combo: "alt+arrowleft", label: "keyLeft" },
  { id: "window.right", combo: "alt+arrowright", label: "keyRight" },
  { id: "window.up", combo: "alt+arrowup", label: "keyMaximize" },
  { id: "window.down", combo: "alt+arrowdown", label: "keyRestore" },
  { id: "window.maximize", combo: "alt+enter", label: "keyToggle" },
] as const satisfies readonly CanvasShortcut[];

/** Alt with arrows walks over words or opens lists in a field; what the person writes must not move windows. */
export const whileTyping: ReadonlySet<string> = new Set<CanvasShortcutID>(["window.next", "window.previous"]);

/** The keys of a title bar that has the focus, as they are shown to people. */
export const titleBarShortcuts = [
  { id: "title.move", combo: "arrows", label: "keyMove" },
  { id: "title.resize", combo: "shift+arrows", label: "keyResize" },
  { id: "title.fine", combo: "ctrl+arrows", label: "keyFine" },
  { id: "title.menu", combo: "shift+f10", label: "keyMenu" },
] as const satisfies readonly CanvasShortcut[];

export type CanvasShortcutID = (typeof canvasShortcuts)[number]["id"];
