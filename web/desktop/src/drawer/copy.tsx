import type { ReactNode } from "react";
import { CopyButton as Button } from "../ui/copy.js";

/** Copies a text. It is seen when its row is pointed at or has the focus. */
export function CopyButton({ text }: { text: string }): ReactNode {
  return <Button text={text} size={13} className="drawer-copy" />;
}
