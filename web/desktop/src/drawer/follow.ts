import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

/** The distance from the end that counts as the end, in px. */
const nearEnd = 32;

export interface Following {
  scroller: RefObject<HTMLDivElement | null>;
  content: RefObject<HTMLDivElement | null>;
  /** Whether the end is visible and stays visible. */
  following: boolean;
  /** The number of entries since the end was left. */
  unread: number;
  jump: () => void;
  /** Stops following the end, before the list is scrolled elsewhere. */
  leave: () => void;
}

/**
 * Keeps the end of a growing list visible until the user scrolls away from it. `keys` are those of its entries, `list`
 * identifies the list; another list starts at its end.
 */
export function useFollowing(keys: readonly string[], list: string): Following {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(true);
  // What `following` will be at the next render, for handlers that run before it.
  const stick = useRef(true);
  const seen = useRef<ReadonlySet<string>>(new Set());

  const toEnd = useCallback(() => {
    const box = scroller.current; // null after the layout of the page changed, until the observer is disconnected
    if (box !== null) box.scrollTop = box.scrollHeight;
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
    /** Whether the user scrolls up and is still near the end. */
    let leaving = false;
    const scrolled = (): void => {
      // Content that changes its size moves the end without any scrolling.
      const grown = box.scrollHeight !== height;
      height = box.scrollHeight;
      const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight <= nearEnd;
      const down = box.scrollTop > top;
      top = box.scrollTop;
      if (grown && stick.current && !atEnd) return toEnd();
      // The first steps up are still near the end, and the event of an earlier scroll may arrive only now.
      leaving &&= atEnd && !down;
      stick.current = atEnd && !leaving;
      setFollowing(stick.current);
    };
    // Rows get their real size when they become visible, so scrolling up changes the size as well.
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

  useLayoutEffect(jump, [jump, list]);
  if (following) seen.current = new Set(keys);
  const unread = following ? 0 : countNew(keys, seen.current);
  return { scroller, content, following, unread, jump, leave };
}

/** The number of entries after the ones seen. Older entries that were loaded since do not count. */
export function countNew(keys: readonly string[], seen: ReadonlySet<string>): number {
  const first = Math.max(
    0,
    keys.findIndex((k) => seen.has(k)),
  );
  return keys.slice(first).filter((k) => !seen.has(k)).length;
}
