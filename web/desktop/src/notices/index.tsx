import type { ReactNode } from "react";

/** Toasts, the notification centre, the notifications of the browser and the badge of the title. */
export function Notices(): ReactNode {
  return null;
}
