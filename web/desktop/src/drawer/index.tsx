import type { ReactNode } from "react";

export function Drawer(): ReactNode {
  return null;
}
