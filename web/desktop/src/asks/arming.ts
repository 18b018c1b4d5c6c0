// A card that pops up under a hand that is about to click must not take that click for an answer.

import { type PointerEvent, useCallback, useEffect, useRef, useState } from "react";

/** How long a question is in view before it can be answered, in ms. */
export const armAfter = 700;

export interface Press {
  isTrusted: boolean;
  /** How often was clicked; 0 for a press by a key. */
  detail: number;
}

/** Whether a press counts: done by the person and not by a script, and begun when the buttons were ready. */
export function counts(press: Press, armed: boolean, downWhenArmed: boolean): boolean {
  return press.isTrusted && armed && (press.detail === 0 || downWhenArmed);
}

/** The clocks of a page. */
export type Clocks = Pick<Window, "requestAnimationFrame" | "cancelAnimationFrame" | "setTimeout" | "clearTimeout">;

/**
 * Does something when what was just put on the page has been in view long enough; gives a function that prevents it. A
 * page that is busy shows a thing later than it has it: the second frame from now begins when the first is seen.
 */
export function whenSeen(clocks: Clocks, act: () => void): () => void {
  let timer = 0;
  let frame = clocks.requestAnimationFrame(() => {
    frame = clocks.requestAnimationFrame(() => {
      timer = clocks.setTimeout(act, armAfter);
    });
  });
  return () => {
    clocks.cancelAnimationFrame(frame);
    clocks.clearTimeout(timer);
  };
}

/** Whether the answers to what has this key can be given. Another key, or a page that comes into view, begins anew. */
export function useArmed(key: string): boolean {
  const [armedKey, setArmedKey] = useState("");
  useEffect(() => {
    let cancel = (): void => undefined;
    const begin = (): void => {
      cancel();
      setArmedKey("");
      if (document.visibilityState === "visible") cancel = whenSeen(window, () => setArmedKey(key));
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

/** What a button that answers has besides its looks. */
export interface PressProps {
  disabled: boolean;
  onPointerDown: (e: PointerEvent) => void;
  onClick: (e: { nativeEvent: MouseEvent }) => void;
}

/** Makes buttons that answer only to presses that count. */
export function usePress(armed: boolean): (act: () => void) => PressProps {
  const down = useRef(false);
  return useCallback(
    (act) => ({
      disabled: !armed,
      onPointerDown: (e) => {
        down.current = armed && e.nativeEvent.isTrusted;
      },
      onClick: (e) => {
        if (counts(e.nativeEvent, armed, down.current)) act();
        down.current = false;
      },
    }),
    [armed],
  );
}
