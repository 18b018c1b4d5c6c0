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
    const scrolled = (): void => {
      // Content that has changed its size moves the end without anybody scrolling.
      const grown = box.scrollHeight !== height;
      height = box.scrollHeight;
      const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight <= near;
      if (grown && stick.current && !atEnd) return toEnd();
      stick.current = atEnd;
      setFollowing(atEnd);
    };
    const grew = new ResizeObserver(() => {
      if (stick.current) toEnd();
    });
    box.addEventListener("scroll", scrolled, { passive: true });
    grew.observe(content.current!);
    grew.observe(box);
    return () => {
      box.removeEventListener("scroll", scrolled);
      grew.disconnect();
    };
  }, [toEnd]);

  useLayoutEffect(jump, [jump, what]);
  if (following) seen.current = new Set(keys);
  const unread = following ? 0 : keys.filter((k) => !seen.current.has(k)).length;
  return { scroller, content, following, unread, jump, leave };
}
