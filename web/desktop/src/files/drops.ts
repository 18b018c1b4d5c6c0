// Drops of files anywhere on the page. The first paint needs this part: a file that is dropped where nothing listens replaces
// the page.

import { useContext, useEffect, useState } from "react";
import { PageContext } from "../shell/context.js";

/** Uploads dropped files that no other part has taken. Returns whether files are being dragged over the page. */
export function useFileDrops(): boolean {
  const page = useContext(PageContext);
  const [dragging, setDragging] = useState(false);
  useEffect(() => {
    if (page === undefined) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const root = document.documentElement;
    const ended = (): void => {
      clearTimeout(timer);
      root.toggleAttribute("data-file-drag", false);
      setDragging(false);
    };
    const over = (e: DragEvent): void => {
      if (!hasFiles(e)) return;
      // Frames get no events from now on, before the pointer can be over one: it would take the files.
      root.toggleAttribute("data-file-drag", true);
      clearTimeout(timer);
      timer = setTimeout(ended, 400); // dragover repeats while files are over the page
      if (e.defaultPrevented) return setDragging(false); // the command bar says that it takes them
      e.preventDefault();
      e.dataTransfer.dropEffect = "copy";
      setDragging(true);
    };
    const dropped = (e: DragEvent): void => {
      ended();
      if (!hasFiles(e) || e.defaultPrevented) return;
      e.preventDefault();
      const files = [...e.dataTransfer.files]; // the list is empty after the event
      const folder = folderAt(e.target);
      void import("./attach.js").then(({ uploadsOf }) => uploadsOf(page).add(files, folder));
    };
    addEventListener("dragenter", over);
    addEventListener("dragover", over);
    addEventListener("drop", dropped);
    return () => {
      ended();
      removeEventListener("dragenter", over);
      removeEventListener("dragover", over);
      removeEventListener("drop", dropped);
    };
  }, [page]);
  return dragging;
}

function hasFiles(e: DragEvent): e is DragEvent & { readonly dataTransfer: DataTransfer } {
  return e.dataTransfer?.types.includes("Files") === true;
}

/** The folder of the Files window that an element is in; "" elsewhere. */
function folderAt(target: EventTarget | null): string {
  return target instanceof Element ? (target.closest<HTMLElement>("[data-files-folder]")?.dataset.filesFolder ?? "") : "";
}
