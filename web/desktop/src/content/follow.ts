import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef } from "react";

/** How far from the end still counts as at the end, in px. */
const near = 24;

/**
 * Keeps what scrolls at its end while a text grows, as long as the reader is there. Everything else leaves it where it is.
 * Gives what the scrolling element needs.
 */
export function useFollow(text: string): { ref: RefObject<HTMLDivElement | null>; onScroll: () => void } {
  const ref = useRef<HTMLDivElement>(null);
  const atEnd = useRef(false);
  const before = useRef<string>(undefined);
  const follow = useCallback(() => {
    if (ref.current !== null && atEnd.current) ref.current.scrollTop = ref.current.scrollHeight;
  }, []);
  const onScroll = useCallback(() => {
    const e = ref.current!;
    atEnd.current = e.scrollHeight - e.scrollTop - e.clientHeight < near;
  }, []);

  useLayoutEffect(() => {
    const old = before.current;
    before.current = text;
    // A text that is new begins at its beginning.
    if (old === undefined || !text.startsWith(old)) onScroll();
    else follow();
  }, [text, follow, onScroll]);

  // What is drawn later, such as formatted text, makes it longer too.
  useEffect(() => {
    const inside = ref.current?.firstElementChild;
    if (inside == null) return;
    let began = true;
    const watch = new ResizeObserver(() => {
      if (!began) follow();
      began = false;
    });
    watch.observe(inside);
    return () => watch.disconnect();
  }, [follow]);
  return { ref, onScroll };
}
