import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef } from "react";

/** The distance from the end that counts as the end, in px. */
const nearEnd = 24;

/**
 * Keeps a scrolling element at its end while a text grows, if the user has scrolled there. Otherwise the position
 * stays. Returns the props of the scrolling element.
 */
export function useFollowEnd(text: string): { ref: RefObject<HTMLDivElement | null>; onScroll: () => void } {
  const ref = useRef<HTMLDivElement>(null);
  const atEnd = useRef(false);
  const before = useRef<string>(undefined);
  const fresh = useRef(false);
  const follow = useCallback(() => {
    if (ref.current !== null && atEnd.current) ref.current.scrollTop = ref.current.scrollHeight;
  }, []);
  const onScroll = useCallback(() => {
    const e = ref.current!;
    atEnd.current = e.scrollHeight - e.scrollTop - e.clientHeight < nearEnd;
  }, []);

  useLayoutEffect(() => {
    const old = before.current;
    before.current = text;
    // A new text starts at its beginning.
    fresh.current = old === undefined || !text.startsWith(old);
    if (fresh.current) atEnd.current = false;
    else follow();
  }, [text, follow]);

  // Reading the size forces a layout. After the layout effects of all texts one is enough for all of them.
  useEffect(() => {
    if (fresh.current && text === before.current) onScroll();
  }, [text, onScroll]);

  // Content that renders later, such as formatted text, grows too.
  useEffect(() => {
    const inside = ref.current?.firstElementChild;
    if (inside == null) return;
    let initial = true;
    const observer = new ResizeObserver(() => {
      if (ref.current === null) return; // it was removed, and the observer is about to be disconnected
      // A text that fitted until its diagram was drawn is read from its beginning.
      if (fresh.current && ref.current.scrollTop === 0) onScroll();
      else if (!initial) follow();
      initial = false;
    });
    observer.observe(inside);
    return () => observer.disconnect();
  }, [follow, onScroll]);
  return { ref, onScroll };
}
