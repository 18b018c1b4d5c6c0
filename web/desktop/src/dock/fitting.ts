import { type RefObject, useLayoutEffect, useRef, useState } from "react";

/** The number of items of one width that fit, if the rest needs a button of width more. */
export function fitting(room: number, width: number, more: number, wanted: number): number {
  if (wanted * width <= room) return wanted;
  return Math.max(0, Math.min(wanted, Math.floor((room - more) / width)));
}

/** The same for the width of an element. */
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

/** Whether an element is narrower than width. */
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
