// Keeps the outputs of the cell that runs in view: code can be longer than the window, and a plot below it would not be seen.

import { type RefObject, useEffect, useRef } from "react";
import type { Cell, CellID } from "../../../../core/src/index.js";

/** The upper and lower edge of something on the screen. */
interface Edges {
  top: number;
  bottom: number;
}

/** How far a box must scroll down to show as much of the outputs as fits, and their beginning in any case. */
export function hiddenBelow(box: Edges, outputs: Edges): number {
  return Math.max(0, Math.min(outputs.bottom - box.bottom, outputs.top - box.top));
}

/** The cell that began last, if it began after a time. */
export function newestRun(cells: readonly Cell[], after: number): Cell | undefined {
  let newest: Cell | undefined;
  for (const c of cells) if ((c.began ?? 0) > (newest?.began ?? after)) newest = c;
  return newest;
}

/** Follows the outputs of each cell that begins to run, in the element with the returned ref, until the user does something there. */
export function useFollowRun(cells: readonly Cell[]): RefObject<HTMLDivElement | null> {
  const box = useRef<HTMLDivElement>(null);
  const followed = useRef<CellID>(undefined);
  const began = useRef<number>(undefined);
  const sizes = useRef<ResizeObserver>(undefined);

  useEffect(() => {
    const el = box.current!;
    const outputsOf = (id: CellID): Element | null => el.querySelector(`[data-outputs="${CSS.escape(id)}"]`);
    const leave = (): void => {
      followed.current = undefined;
    };
    // Outputs grow, pictures have no size before they are decoded, and the list of variables takes a part of the box.
    const observer = new ResizeObserver(() => {
      const outputs = followed.current === undefined ? null : outputsOf(followed.current);
      if (outputs === null) return;
      const edges = el.getBoundingClientRect();
      // Monitors may be drawn smaller than they are.
      el.scrollTop += hiddenBelow(edges, outputs.getBoundingClientRect()) * (el.offsetHeight / edges.height || 1);
    });
    sizes.current = observer;
    const acts = ["wheel", "pointerdown", "keydown"] as const;
    const first = { passive: true, capture: true }; // editors stop the keys that they take
    for (const act of acts) el.addEventListener(act, leave, first);
    return () => {
      observer.disconnect();
      for (const act of acts) el.removeEventListener(act, leave, first);
    };
  }, []);

  useEffect(() => {
    const el = box.current!;
    const run = newestRun(cells, began.current ?? 0);
    const isFirst = began.current === undefined;
    began.current = run?.began ?? began.current ?? 0;
    if (run === undefined || (isFirst && run.state !== "running")) return;
    const typing = document.activeElement?.closest("[data-editor]") ?? null;
    const section = el.querySelector(`[data-cell="${CSS.escape(run.id)}"]`);
    if (section === null || (typing !== null && el.contains(typing) && !section.contains(typing))) return; // in another cell
    followed.current = run.id;
    sizes.current?.disconnect();
    for (const part of [el, section]) sizes.current?.observe(part);
  }, [cells]);

  return box;
}
