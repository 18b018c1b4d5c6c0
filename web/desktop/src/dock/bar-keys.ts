import { type RefObject, useEffect, useRef, useState } from "react";
import { isTyping, matches, useKeys } from "../ui/keys.js";
import { focusCommandBar } from "./drafts.js";

/** Two presses of Esc within this time, in ms, stop the agent. */
const twice = 900;

/** Handles the page-wide keys of the command bar. Returns whether Esc was pressed once, so that a second press stops the agent. */
export function useBarKeys(field: RefObject<HTMLTextAreaElement | null>, stop: (() => void) | undefined): boolean {
  const last = useRef(0);
  const [waits, setWaits] = useState(false);
  useEffect(() => {
    if (!waits) return;
    const timer = setTimeout(() => setWaits(false), twice);
    return () => clearTimeout(timer);
  }, [waits]);
  useKeys((e) => {
    if (matches(e, "/") && !isTyping(e) && document.querySelector("dialog:modal") === null) {
      if (document.activeElement === field.current) return false;
      focusCommandBar();
      return true;
    }
    // Esc first closes an open dialog or popover.
    if (e.key !== "Escape" || e.repeat || stop === undefined || document.querySelector("dialog:modal, :popover-open") !== null) return false;
    const now = performance.now();
    const again = now - last.current < twice;
    last.current = again ? 0 : now;
    setWaits(!again);
    if (again) stop();
    return again;
  });
  return waits && stop !== undefined;
}
