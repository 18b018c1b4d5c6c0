import { useEffect, useRef } from "react";
import { isStandard, type WindowState, windowKey } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { useMonitor } from "../shell/select.js";
import { canvas as texts } from "../texts/entry.js";
import { isTyping, matches, useKeys } from "../ui/keys.js";
import type { WindowManager } from "./manager.js";
import { type CanvasShortcutID, canvasShortcuts, whileTyping } from "./shortcuts.js";
import { cycleOrder } from "./stack.js";

/** The element of a window, by its key. */
export function elementOf(key: string): HTMLElement | undefined {
  const all = document.querySelectorAll<HTMLElement>("section[data-window-id]");
  return [...all].find((el) => keyOfElement(el) === key);
}

function keyOfElement(el: Element | null | undefined): string {
  const at = el?.closest<HTMLElement>("section[data-window-id]");
  return at === null || at === undefined ? "" : windowKey(at.dataset.monitorId ?? "", at.dataset.windowId ?? "");
}

export function focusWindow(key: string): void {
  elementOf(key)?.querySelector<HTMLElement>("[data-title-bar]")?.focus({ preventScroll: true });
}

/** Handles the keyboard shortcuts for windows. */
export function useCanvasKeys(manager: WindowManager): void {
  const t = useTexts(texts);
  const commands = useCommands();
  const monitor = useMonitor();
  const windows = useShell((s) => s.desktop.windows);
  /** The windows in the order they had when Alt was pressed; every step changes the actual order. */
  const cycle = useRef<{ keys: string[]; at: number } | undefined>(undefined);

  useEffect(() => {
    const released = (e: KeyboardEvent): void => {
      if (e.key === "Alt") cycle.current = undefined;
    };
    const left = (): void => void (cycle.current = undefined);
    document.addEventListener("keyup", released);
    addEventListener("blur", left);
    return () => {
      document.removeEventListener("keyup", released);
      removeEventListener("blur", left);
    };
  }, []);

  const step = (by: number): boolean => {
    cycle.current ??= { keys: cycleOrder(windows.values(), monitor), at: keyOfElement(document.activeElement) === "" ? -1 : 0 };
    const { keys } = cycle.current;
    if (keys.length === 0) return false;
    // When no window has the focus, the first step goes to the window in front.
    cycle.current.at = by > 0 ? (cycle.current.at + 1) % keys.length : (Math.max(cycle.current.at, 0) - 1 + keys.length) % keys.length;
    focusWindow(keys[cycle.current.at]!);
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
 * Moves the focus to the window in front when the focused window disappears, and only then. It also raises a window
 * whose iframe was clicked: this page notices that only by losing its own focus.
 */
export function useFocusReturn(manager: WindowManager, windows: readonly WindowState[]): void {
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
    const disappeared = !windows.some((w) => windowKey(w.monitorId, w.windowId) === last.current && !w.minimized);
    const at = document.activeElement;
    if (!disappeared || (at !== null && at !== document.body && keyOfElement(at) !== last.current)) return;
    last.current = "";
    const next = manager.front();
    if (next !== undefined) focusWindow(windowKey(next.monitorId, next.windowId));
    else document.querySelector<HTMLElement>("[data-region=canvas]")?.focus();
  }, [windows, manager]);
}
