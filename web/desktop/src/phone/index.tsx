import type { ReactNode } from "react";

export function Phone(): ReactNode {
  return null;
}
