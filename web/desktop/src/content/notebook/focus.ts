// Keeps the focus in a notebook whose cells are moved or deleted. A browser drops the focus of an element that is moved in
// the page or removed from it, and people who use the keyboard would have to begin at the top of the page again.

import { type RefObject, useLayoutEffect } from "react";

const controls = "button, a[href], .notebook-editor, [tabindex='0']";

/** Where the focus is: in which cell, at which place, on which of its controls. */
interface Place {
  cell: Element;
  index: number;
  control: number;
}

function cellsOf(list: Element): Element[] {
  return [...list.querySelectorAll("[data-cell]")];
}

function placeOf(list: Element | null): Place | undefined {
  const at = document.activeElement;
  const cell = at?.closest("[data-cell]");
  if (list === null || !at || !cell || !list.contains(cell)) return undefined;
  return { cell, index: cellsOf(list).indexOf(cell), control: [...cell.querySelectorAll(controls)].indexOf(at) };
}

function focus(at: HTMLElement): void {
  (at.shadowRoot?.querySelector<HTMLElement>(".cm-content") ?? at).focus();
}

/** Gives the focus back to the same control of the cell that had it, or of the one that has taken the place of that cell. */
export function useKeptFocus(list: RefObject<HTMLElement | null>): void {
  const before = placeOf(list.current); // before the page changes
  useLayoutEffect(() => {
    if (before === undefined || list.current === null || document.activeElement !== document.body) return;
    const all = cellsOf(list.current);
    const cell = before.cell.isConnected ? before.cell : all[Math.min(before.index, all.length - 1)];
    const found = cell?.querySelectorAll<HTMLElement>(controls);
    focus(found?.[before.control] ?? found?.[0] ?? list.current);
  });
}
