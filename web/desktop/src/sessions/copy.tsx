import type { ReactNode } from "react";
import { CopyButton } from "../ui/copy.js";

/** Lines for a terminal, with a way to copy them. */
export function Command({ lines }: { lines: string }): ReactNode {
  return (
    <div className="sessions-command">
      <pre tabIndex={0}>{lines}</pre>
      <CopyButton text={lines} wide />
    </div>
  );
}
