import type { ReactNode } from "react";

export function Panels(): ReactNode {
  return null;
}
