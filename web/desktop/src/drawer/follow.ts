import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

/** So near to the end, in pixels, is at the end. */
const near = 32;

export interface Following {
  scroller: RefObject<HTMLDivElement | null>;
  content: RefObject<HTMLDivElement | null>;
  /** The end is in sight and stays there. */
  following: boolean;
  /** How many came since it was left. */
  unread: number;
  jump: () => void;
  /** Leaves the end, to be led somewhere else. */
  leave: () => void;
}

/** Keeps the end of a growing list in sight until somebody scrolls away from it. `what` names the list; another one begins at its end. */
export function useFollowing(keys: readonly string[], what: string): Following {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(true);
  const stick = useRef(true);
  const seen = useRef<ReadonlySet<string>>(new Set());

  const toEnd = useCallback(() => {
    const box = scroller.current!;
    box.scrollTop = box.scrollHeight;
  }, []);
  const jump = useCallback(() => {
    stick.current = true;
    setFollowing(true);
    toEnd();
  }, [toEnd]);

  const leave = useCallback(() => {
    stick.current = false;
    setFollowing(false);
  }, []);

  useEffect(() => {
    const box = scroller.current!;
    let height = box.scrollHeight;
    let top = box.scrollTop;
    /** Somebody goes up and is not away from the end yet. */
    let leaving = false;
    const scrolled = (): void => {
      // Content that has changed its size moves the end without anybody scrolling.
      const grown = box.scrollHeight !== height;
      height = box.scrollHeight;
      const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight <= near;
      const down = box.scrollTop > top;
      top = box.scrollTop;
      if (grown && stick.current && !atEnd) return toEnd();
      // The first steps up are near the end still, and scrolling there from before may be told only now.
      leaving &&= atEnd && !down;
      stick.current = atEnd && !leaving;
      setFollowing(stick.current);
    };
    // Rows get their real size when they come into sight, so who goes up changes the size as well.
    const goesUp = (e: Event): void => {
      const up = e instanceof WheelEvent ? e.deltaY < 0 : e instanceof KeyboardEvent && ["Home", "PageUp", "ArrowUp"].includes(e.key);
      if (!up || box.scrollTop <= 0 || !(e.target instanceof Element) || e.target.matches("input, textarea")) return;
      stick.current = false;
      leaving = true;
      top = box.scrollTop;
    };
    const grew = new ResizeObserver(() => {
      if (stick.current) toEnd();
    });
    box.addEventListener("scroll", scrolled, { passive: true });
    box.addEventListener("wheel", goesUp, { passive: true });
    box.addEventListener("keydown", goesUp);
    grew.observe(content.current!);
    grew.observe(box);
    return () => {
      box.removeEventListener("scroll", scrolled);
      box.removeEventListener("wheel", goesUp);
      box.removeEventListener("keydown", goesUp);
      grew.disconnect();
    };
  }, [toEnd]);

  useLayoutEffect(jump, [jump, what]);
  if (following) seen.current = new Set(keys);
  const unread = following ? 0 : newIn(keys, seen.current);
  return { scroller, content, following, unread, jump, leave };
}

/** How many came after what was seen. Older ones that were read since are not new. */
export function newIn(keys: readonly string[], seen: ReadonlySet<string>): number {
  const first = Math.max(
    0,
    keys.findIndex((k) => seen.has(k)),
  );
  return keys.slice(first).filter((k) => !seen.has(k)).length;
}
