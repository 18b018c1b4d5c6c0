// Pastes on the desktop, while no field has the focus: files are uploaded, pictures and texts go to the command bar.

import { useEffect } from "react";
import type { Page } from "../shell/boot.js";
import { uploadsOf } from "./attach.js";

export function usePastes(page: Page): void {
  useEffect(() => {
    const pasted = (e: ClipboardEvent): void => {
      if (e.defaultPrevented || e.clipboardData === null || isBusy(e.target)) return;
      const files = [...e.clipboardData.files]; // the list is empty after the event
      const text = e.clipboardData.getData("text/plain");
      const bar = document.querySelector<HTMLTextAreaElement>("[data-command-bar]");
      const pictures = files.filter((f) => f.type.startsWith("image/"));
      const others = files.filter((f) => !pictures.includes(f));
      if (files.length === 0 && (text === "" || bar === null)) return;
      e.preventDefault();
      if (others.length > 0) void uploadsOf(page).add(others, "");
      if (bar === null) return;
      if (pictures.length > 0) pasteInto(bar, pictures);
      if (files.length === 0) insertInto(bar, text);
    };
    addEventListener("paste", pasted);
    return () => removeEventListener("paste", pasted);
  }, [page]);
}

/** Whether pastes are for the focused element or for an open dialog. */
function isBusy(target: EventTarget | null): boolean {
  const field = target instanceof Element && target.closest("input, textarea, select, [contenteditable]:not([contenteditable=false])") !== null;
  return field || document.querySelector("dialog:modal") !== null;
}

/** Passes pictures to the command bar, which attaches what is pasted into it. */
function pasteInto(bar: HTMLElement, pictures: readonly File[]): void {
  const clipboardData = new DataTransfer();
  for (const picture of pictures) clipboardData.items.add(picture);
  bar.focus();
  bar.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData }));
}

/** Adds a text to the end of the draft, as if it was typed, so that it can be undone. */
function insertInto(bar: HTMLTextAreaElement, text: string): void {
  bar.focus();
  bar.setSelectionRange(bar.value.length, bar.value.length);
  document.execCommand("insertText", false, text);
}
