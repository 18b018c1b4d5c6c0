import { type RefObject, useLayoutEffect, useRef, useState } from "react";

/** How many things of one width fit into a room, when there has to be a button for those that do not. */
export function fitting(room: number, width: number, more: number, wanted: number): number {
  if (wanted * width <= room) return wanted;
  return Math.max(0, Math.min(wanted, Math.floor((room - more) / width)));
}

/** The same for an element of the page, as wide as it is. */
export function useFitting(width: number, more: number, wanted: number): { ref: RefObject<HTMLDivElement | null>; count: number } {
  const ref = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(0);
  useLayoutEffect(() => {
    const box = ref.current!;
    const watch = new ResizeObserver(() => setRoom(box.clientWidth));
    watch.observe(box);
    setRoom(box.clientWidth);
    return () => watch.disconnect();
  }, []);
  return { ref, count: fitting(room, width, more, wanted) };
}

/** Whether an element is narrower than that. */
export function useNarrow(ref: RefObject<HTMLElement | null>, width: number): boolean {
  const [narrow, setNarrow] = useState(false);
  useLayoutEffect(() => {
    const el = ref.current!;
    const look = (): void => setNarrow(el.clientWidth < width);
    const watch = new ResizeObserver(look);
    watch.observe(el);
    look();
    return () => watch.disconnect();
  }, [ref, width]);
  return narrow;
}
