import type { ReactNode } from "react";

export function Dock(): ReactNode {
  return null;
}
