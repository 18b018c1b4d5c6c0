import { useEffect, useState } from "react";
import { rowHeight, type Span, spanOf } from "./window.js";

/** The rows that can be seen. Scrolling is looked at once per frame. */
export function useSpan(box: { readonly current: HTMLDivElement | null }, count: number, row = rowHeight): Span {
  const [at, setAt] = useState({ scrolled: 0, height: 600 });
  useEffect(() => {
    const view = box.current!;
    let frame = 0;
    const look = (): void => {
      frame = 0;
      // Steps of a row: less would draw the same again.
      const next = { scrolled: Math.floor(view.scrollTop / row) * row, height: view.clientHeight };
      setAt((was) => (was.scrolled === next.scrolled && was.height === next.height ? was : next));
    };
    const soon = (): void => {
      if (frame === 0) frame = requestAnimationFrame(look);
    };
    view.addEventListener("scroll", soon, { passive: true });
    const watch = new ResizeObserver(soon);
    watch.observe(view);
    look();
    return () => {
      cancelAnimationFrame(frame);
      view.removeEventListener("scroll", soon);
      watch.disconnect();
    };
  }, [box, row]);
  return spanOf(count, at.scrolled, at.height, row);
}
