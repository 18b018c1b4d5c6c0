// Keeps the card over everything else in the top layer. It lies in an element of its own outside of the page; while a
// modal is open it moves into that, since whatever is outside of a modal cannot be used.

import { useEffect, useState } from "react";

/** The element that holds the card. */
export function useHost(): HTMLElement {
  const [host] = useState(() => document.createElement("div"));
  useEffect(() => () => host.remove(), [host]);
  return host;
}

/** Shows the card as the last of the top layer for as long as it is there, whatever opens after it. */
export function useOnTop(host: HTMLElement, card: HTMLElement | null, shown: boolean): void {
  useEffect(() => {
    if (card === null || !shown) return;
    raise(host, card);
    const opened = (e: Event): void => {
      const at = e.target;
      if (at === card || !(at instanceof HTMLElement) || card.contains(at)) return;
      raise(host, card);
    };
    const opens = new MutationObserver(() => {
      if (parentFor(host) !== host.parentElement) raise(host, card);
    });
    opens.observe(document.body, { subtree: true, attributeFilter: ["open"] });
    document.addEventListener("toggle", opened, true);
    // A modal that is taken out of the page together with the card tells nobody.
    const check = setInterval(() => {
      if (!card.matches(":popover-open") || parentFor(host) !== host.parentElement) raise(host, card);
    }, 250);
    return () => {
      opens.disconnect();
      document.removeEventListener("toggle", opened, true);
      clearInterval(check);
      if (card.matches(":popover-open")) card.hidePopover();
    };
  }, [host, card, shown]);
}

/** The newest modal, else the page. */
function parentFor(host: HTMLElement): HTMLElement {
  const modals = [...document.querySelectorAll<HTMLElement>("dialog:modal")].filter((m) => !host.contains(m));
  return modals.find((m) => m.contains(document.activeElement) && !host.contains(document.activeElement)) ?? modals.at(-1) ?? document.body;
}

/** Puts the card on top, where it was: with its focus and what was scrolled to. */
function raise(host: HTMLElement, card: HTMLElement): void {
  const focus = card.contains(document.activeElement) ? (document.activeElement as HTMLElement) : undefined;
  const scrolled = [...card.querySelectorAll<HTMLElement>("[data-scrolls]")].map((el) => [el, el.scrollTop] as const);
  const parent = parentFor(host);
  if (host.parentElement !== parent) parent.append(host);
  if (card.matches(":popover-open")) card.hidePopover();
  // A dialog that is shown takes the focus, even from who is in the middle of a word; an inert one cannot.
  card.inert = true;
  card.showPopover();
  card.inert = false;
  for (const [el, top] of scrolled) el.scrollTop = top;
  focus?.focus({ preventScroll: true });
}
