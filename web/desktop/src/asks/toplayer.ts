// Keeps the card above everything else in the top layer. The card has a host element outside of the page's root. While
// a modal is open the host moves into it, because everything outside of a modal is inert.

import { useEffect, useState } from "react";

/** The host element of the card. */
export function useCardHost(): HTMLElement {
  const [host] = useState(() => document.createElement("div"));
  useEffect(() => () => host.remove(), [host]);
  return host;
}

/** Keeps the card as the last element of the top layer while it is shown, whatever opens after it. */
export function useTopLayer(host: HTMLElement, card: HTMLElement | null, shown: boolean): void {
  useEffect(() => {
    if (card === null || !shown) return;
    raise(host, card);
    const opened = (e: Event): void => {
      const at = e.target;
      if (at === card || !(at instanceof HTMLElement) || card.contains(at)) return;
      raise(host, card);
    };
    const opens = new MutationObserver(() => {
      if (hostParent(host) !== host.parentElement) raise(host, card);
    });
    opens.observe(document.body, { subtree: true, attributeFilter: ["open"] });
    document.addEventListener("toggle", opened, true);
    // A modal that is removed from the document together with the card causes no event.
    const check = setInterval(() => {
      if (!card.matches(":popover-open") || hostParent(host) !== host.parentElement) raise(host, card);
    }, 250);
    return () => {
      opens.disconnect();
      document.removeEventListener("toggle", opened, true);
      clearInterval(check);
      if (card.matches(":popover-open")) card.hidePopover();
    };
  }, [host, card, shown]);
}

/** The parent for the host: the modal that has the focus, else the last modal, else the body. */
function hostParent(host: HTMLElement): HTMLElement {
  const modals = [...document.querySelectorAll<HTMLElement>("dialog:modal")].filter((m) => !host.contains(m));
  return modals.find((m) => m.contains(document.activeElement) && !host.contains(document.activeElement)) ?? modals.at(-1) ?? document.body;
}

/** Puts the card on top and restores its focus and scroll positions. */
function raise(host: HTMLElement, card: HTMLElement): void {
  const focus = card.contains(document.activeElement) ? (document.activeElement as HTMLElement) : undefined;
  const scrolled = [...card.querySelectorAll<HTMLElement>("[data-scrolls]")].map((el) => [el, el.scrollTop] as const);
  const parent = hostParent(host);
  if (host.parentElement !== parent) parent.append(host);
  if (card.matches(":popover-open")) card.hidePopover();
  // Showing a dialog moves the focus into it, even while the user types; an inert dialog cannot take it.
  card.inert = true;
  card.showPopover();
  card.inert = false;
  for (const [el, top] of scrolled) el.scrollTop = top;
  focus?.focus({ preventScroll: true });
}
