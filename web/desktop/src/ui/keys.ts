import { type KeyboardEvent as ReactKeyboardEvent, useEffect, useRef } from "react";

/**
 * A key with its modifiers: "mod+k" is Ctrl+K, or Cmd+K on a Mac. With Alt, use key codes, since Alt changes
 * characters.
 */
export type Combo = string;

export const onMac = typeof navigator !== "undefined" && /Mac|iP(hone|ad)/.test(navigator.platform);

/** Whether an input method is composing a character; keys have another meaning then. */
export function isComposing(e: KeyboardEvent | ReactKeyboardEvent): boolean {
  const native = "nativeEvent" in e ? e.nativeEvent : e;
  return native.isComposing || native.keyCode === 229;
}

/** Whether the user types text, so that plain keys are no shortcuts. */
export function isTyping(e: KeyboardEvent): boolean {
  const at = e.target;
  return at instanceof HTMLElement && (at.isContentEditable || at.matches("input, textarea, select"));
}

export function matches(e: KeyboardEvent, combo: Combo): boolean {
  const parts = combo.toLowerCase().split("+");
  const key = parts.pop()!;
  const mod = parts.includes("mod");
  const ctrl = parts.includes("ctrl") || (mod && !onMac);
  const meta = mod && onMac;
  if (e.ctrlKey !== ctrl || e.metaKey !== meta || e.altKey !== parts.includes("alt")) return false;
  if (parts.includes("shift") !== e.shiftKey && key !== "?") return false;
  return e.key.toLowerCase() === key || e.code.toLowerCase() === key || e.code.toLowerCase() === `digit${key}` || e.code.toLowerCase() === `key${key}`;
}

/** Handles keys everywhere on the page. The handler returns true if it handled the key. */
export function useKeys(handle: (e: KeyboardEvent) => boolean): void {
  const latest = useRef(handle);
  latest.current = handle;
  useEffect(() => {
    const onKeyDown = (e: KeyboardEvent): void => {
      if (!e.defaultPrevented && !isComposing(e) && latest.current(e)) e.preventDefault();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}
