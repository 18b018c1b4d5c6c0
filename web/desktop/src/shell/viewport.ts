import { useSyncExternalStore } from "react";

/** Whether a media query matches. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (changed) => {
      const media = matchMedia(query);
      media.addEventListener("change", changed);
      return () => media.removeEventListener("change", changed);
    },
    () => matchMedia(query).matches,
  );
}

/** Whether the page is narrow, so that it shows the phone layout with one window at a time. */
export function usePhone(): boolean {
  return useMedia("(max-width: 767.98px)");
}

/** Whether the page is wide enough to open the conversation by default. In the phone layout the conversation is a page of its own. */
export function hasRoomForDrawer(): boolean {
  return matchMedia("(min-width: 1200px), (max-width: 767.98px)").matches;
}
