import type { ReactNode } from "react";
import { CopyButton as Button } from "../ui/copy.js";

/** A copy button that is visible while its row is hovered or focused. */
export function CopyButton({ text }: { text: string }): ReactNode {
  return <Button text={text} size={13} className="drawer-copy" />;
}
