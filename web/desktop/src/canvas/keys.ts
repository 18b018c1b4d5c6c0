import { useEffect, useRef } from "react";
import { isStandard, type WindowState, windowKey } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { useMonitor } from "../shell/select.js";
import { canvas as texts } from "../texts/entry.js";
import { isTyping, matches, useKeys } from "../ui/keys.js";
import type { Manager } from "./manager.js";
import { type CanvasShortcutID, canvasShortcuts, whileTyping } from "./shortcuts.js";
import { cycleOf } from "./stack.js";

/** The element of a window. */
function elementOf(key: string): HTMLElement | undefined {
  const all = document.querySelectorAll<HTMLElement>("section[data-window-id]");
  return [...all].find((el) => keyOfElement(el) === key);
}

function keyOfElement(el: Element | null | undefined): string {
  const at = el?.closest<HTMLElement>("section[data-window-id]");
  return at === null || at === undefined ? "" : windowKey(at.dataset.monitorId ?? "", at.dataset.windowId ?? "");
}

/** Gives the focus of the keyboard to a window. */
function focusOn(key: string): void {
  elementOf(key)?.querySelector<HTMLElement>("[data-title-bar]")?.focus({ preventScroll: true });
}

/** The keys for windows. */
export function useCanvasKeys(manager: Manager): void {
  const t = useTexts(texts);
  const commands = useCommands();
  const monitor = useMonitor();
  const windows = useShell((s) => s.desktop.windows);
  /** The windows in the order they had when Alt went down: every step changes the real one. */
  const walk = useRef<{ keys: string[]; at: number } | undefined>(undefined);

  useEffect(() => {
    const released = (e: KeyboardEvent): void => {
      if (e.key === "Alt") walk.current = undefined;
    };
    const left = (): void => void (walk.current = undefined);
    document.addEventListener("keyup", released);
    addEventListener("blur", left);
    return () => {
      document.removeEventListener("keyup", released);
      removeEventListener("blur", left);
    };
  }, []);

  const step = (by: number): boolean => {
    walk.current ??= { keys: cycleOf(windows.values(), monitor), at: keyOfElement(document.activeElement) === "" ? -1 : 0 };
    const { keys } = walk.current;
    if (keys.length === 0) return false;
    // From outside of the windows, the first step goes to the one in front.
    walk.current.at = by > 0 ? (walk.current.at + 1) % keys.length : (Math.max(walk.current.at, 0) - 1 + keys.length) % keys.length;
    focusOn(keys[walk.current.at]!);
    return true;
  };
  const target = (): WindowState | undefined => windows.get(keyOfElement(document.activeElement)) ?? manager.front();
  const acts: Record<CanvasShortcutID, (w: WindowState) => void> = {
    "window.next": () => step(1),
    "window.previous": () => step(-1),
    "window.left": (w) => manager.snap(w, "left"),
    "window.right": (w) => manager.snap(w, "right"),
    "window.up": (w) => manager.snap(w, "full"),
    "window.down": (w) => {
      if (manager.canRestore(w)) manager.restore(w);
      else if (manager.live) commands.toggleMinimized(w);
      else commands.notify(t.needsLink, "warning");
    },
    "window.maximize": (w) => manager.toggleMaximized(w),
  };
  useKeys((e) => {
    const hit = canvasShortcuts.find((s) => matches(e, s.combo));
    if (hit === undefined || document.querySelector("dialog[open]") !== null) return false;
    if (isTyping(e) && !whileTyping.has(hit.id)) return false;
    const w = target();
    if (w === undefined || !isStandard(w)) {
      if (!hit.id.endsWith("next") && !hit.id.endsWith("previous")) return false;
      return step(hit.id === "window.next" ? 1 : -1);
    }
    acts[hit.id](w);
    return true;
  });
}

/**
 * When the window that has the focus goes away, the focus goes to the one that is in front then, and never to one of its
 * own accord. Also a click into a page in a window, of which only its losing of the focus can be seen here, raises it.
 */
export function useFocusReturn(manager: Manager, windows: readonly WindowState[]): void {
  const last = useRef("");
  useEffect(() => {
    const entered = (e: FocusEvent): void => void (last.current = keyOfElement(e.target as Element));
    const intoPage = (): void => {
      setTimeout(() => {
        const at = document.activeElement;
        const w = at instanceof HTMLIFrameElement ? manager.window(keyOfElement(at)) : undefined;
        if (w !== undefined) manager.raise(w);
      });
    };
    document.addEventListener("focusin", entered);
    addEventListener("blur", intoPage);
    return () => {
      document.removeEventListener("focusin", entered);
      removeEventListener("blur", intoPage);
    };
  }, [manager]);
  useEffect(() => {
    if (last.current === "") return;
    const gone = !windows.some((w) => windowKey(w.monitorId, w.windowId) === last.current && !w.minimized);
    const at = document.activeElement;
    if (!gone || (at !== null && at !== document.body && keyOfElement(at) !== last.current)) return;
    last.current = "";
    const next = manager.front();
    if (next !== undefined) focusOn(windowKey(next.monitorId, next.windowId));
    else document.querySelector<HTMLElement>("[data-region=canvas]")?.focus();
  }, [windows, manager]);
}
