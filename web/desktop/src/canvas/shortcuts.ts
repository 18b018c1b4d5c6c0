import type { windows as texts } from "../texts/windows.js";
import type { Combo } from "../ui/keys.js";

/** A keyboard shortcut of the canvas, with the name of its text. */
export interface CanvasShortcut {
  readonly id: string;
  readonly combo: Combo;
  readonly label: keyof (typeof texts)["en"];
}

/** The shortcuts that work wherever the focus is. While the user types, only those of `whileTyping` do. */
export const canvasShortcuts = [
  { id: "window.next", combo: "alt+backquote", label: "keyNext" },
  { id: "window.previous", combo: "alt+shift+backquote", label: "keyPrevious" },
  { id: "window.left", combo: "alt+arrowleft", label: "keyLeft" },
  { id: "window.right", combo: "alt+arrowright", label: "keyRight" },
  { id: "window.up", combo: "alt+arrowup", label: "keyMaximize" },
  { id: "window.down", combo: "alt+arrowdown", label: "keyRestore" },
  { id: "window.maximize", combo: "alt+enter", label: "keyToggle" },
] as const satisfies readonly CanvasShortcut[];

/**
 * The shortcuts that also work while the user types. In text fields, Alt with arrows moves over words or opens lists.
 */
export const whileTyping: ReadonlySet<string> = new Set<CanvasShortcutID>(["window.next", "window.previous"]);

/** The shortcuts of a focused title bar, for the help. */
export const titleBarShortcuts = [
  { id: "title.move", combo: "arrows", label: "keyMove" },
  { id: "title.resize", combo: "shift+arrows", label: "keyResize" },
  { id: "title.fine", combo: "ctrl+arrows", label: "keyFine" },
  { id: "title.menu", combo: "shift+f10", label: "keyMenu" },
] as const satisfies readonly CanvasShortcut[];

export type CanvasShortcutID = (typeof canvasShortcuts)[number]["id"];
