// A view gets a request to end before its frame is removed.

/** An element whose children can be moved without loading frames again. */
interface Mover {
  moveBefore?: (node: Node, before: Node | null) => void;
}

/**
 * Keeps a frame that React is about to remove until its view has ended. Browsers that cannot move frames (those without
 * moveBefore) remove it at once.
 */
export function endFrame(frame: HTMLIFrameElement, ended: Promise<void>): void {
  const holder = document.createElement("div");
  holder.hidden = true;
  document.body.append(holder);
  try {
    (holder as Mover).moveBefore?.(frame, null);
  } catch {
    // The frame is not in the document any more.
  }
  void ended.finally(() => holder.remove());
}
