// Prevents a click meant for something else from answering a card that appears under the pointer.

import { type PointerEvent, useCallback, useEffect, useRef, useState } from "react";

/** How long a question must be visible before it can be answered, in ms. */
export const armDelay = 700;

export interface Press {
  isTrusted: boolean;
  /** The number of clicks; 0 for the keyboard. */
  detail: number;
}

/**
 * Whether a press may answer: it comes from the user and not from a script, and it began after the buttons were armed.
 */
export function isValidPress(press: Press, armed: boolean, downWhenArmed: boolean): boolean {
  return press.isTrusted && armed && (press.detail === 0 || downWhenArmed);
}

/** The timer functions of a page. */
export type Timers = Pick<Window, "requestAnimationFrame" | "cancelAnimationFrame" | "setTimeout" | "clearTimeout">;

/**
 * Calls act once an element that was just added has been visible for armDelay; returns a function that cancels it. A
 * busy page paints later than it renders: the second animation frame from now starts after the first was painted.
 */
export function afterVisible(clocks: Timers, act: () => void): () => void {
  let timer = 0;
  let frame = clocks.requestAnimationFrame(() => {
    frame = clocks.requestAnimationFrame(() => {
      timer = clocks.setTimeout(act, armDelay);
    });
  });
  return () => {
    clocks.cancelAnimationFrame(frame);
    clocks.clearTimeout(timer);
  };
}

/**
 * Whether the question with this key can be answered. The delay starts again when the key changes or the page becomes
 * visible.
 */
export function useArmed(key: string): boolean {
  const [armedKey, setArmedKey] = useState("");
  useEffect(() => {
    let cancel = (): void => undefined;
    const begin = (): void => {
      cancel();
      setArmedKey("");
      if (document.visibilityState === "visible") cancel = afterVisible(window, () => setArmedKey(key));
    };
    begin();
    document.addEventListener("visibilitychange", begin);
    return () => {
      cancel();
      document.removeEventListener("visibilitychange", begin);
    };
  }, [key]);
  return armedKey === key && key !== "";
}

/** The props that a button needs to answer a question. */
export interface PressProps {
  disabled: boolean;
  onPointerDown: (e: PointerEvent) => void;
  onClick: (e: { nativeEvent: MouseEvent }) => void;
}

/** Returns a function that makes the props of a button, which then ignores presses that may not answer. */
export function usePress(armed: boolean): (act: () => void) => PressProps {
  const down = useRef(false);
  return useCallback(
    (act) => ({
      disabled: !armed,
      onPointerDown: (e) => {
        down.current = armed && e.nativeEvent.isTrusted;
      },
      onClick: (e) => {
        if (isValidPress(e.nativeEvent, armed, down.current)) act();
        down.current = false;
      },
    }),
    [armed],
  );
}
