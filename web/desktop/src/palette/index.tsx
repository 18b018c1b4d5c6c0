import type { ReactNode } from "react";

export function Palette(): ReactNode {
  return null;
}
