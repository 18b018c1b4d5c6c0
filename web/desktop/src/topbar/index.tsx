import type { ReactNode } from "react";

export function TopBar(): ReactNode {
  return null;
}
