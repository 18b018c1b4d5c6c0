import { useSyncExternalStore } from "react";

/** Whether a media query holds. */
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

/** Whether there is room for one window at a time only. */
export function usePhone(): boolean {
  return useMedia("(max-width: 767.98px)");
}

/** Whether the conversation leaves enough of the canvas that it may be open from the beginning. On a phone it is the page. */
export function hasRoomForDrawer(): boolean {
  return matchMedia("(min-width: 1200px), (max-width: 767.98px)").matches;
}
