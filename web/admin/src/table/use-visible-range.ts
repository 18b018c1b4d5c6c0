import { useEffect, useState } from "react";
import { type RowRange, rowHeight, visibleRange } from "./visible-range.js";

/** The rows to render. It reads the scroll position once per animation frame. */
export function useVisibleRange(box: { readonly current: HTMLDivElement | null }, count: number, row = rowHeight): RowRange {
  const [at, setAt] = useState({ scrolled: 0, height: 600 });
  useEffect(() => {
    const view = box.current!;
    let frame = 0;
    const update = (): void => {
      frame = 0;
      // In steps of a row: less would render the same.
      const next = { scrolled: Math.floor(view.scrollTop / row) * row, height: view.clientHeight };
      setAt((was) => (was.scrolled === next.scrolled && was.height === next.height ? was : next));
    };
    const schedule = (): void => {
      if (frame === 0) frame = requestAnimationFrame(update);
    };
    view.addEventListener("scroll", schedule, { passive: true });
    const observer = new ResizeObserver(schedule);
    observer.observe(view);
    update();
    return () => {
      cancelAnimationFrame(frame);
      view.removeEventListener("scroll", schedule);
      observer.disconnect();
    };
  }, [box, row]);
  return visibleRange(count, at.scrolled, at.height, row);
}
