import type { ReactNode } from "react";

export function Asks(): ReactNode {
  return null;
}
