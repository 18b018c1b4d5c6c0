import type { ReactNode } from "react";
import { CopyButton } from "../ui/copy.js";

/** Terminal commands with a copy button. */
export function Command({ lines }: { lines: string }): ReactNode {
  return (
    <div className="sessions-command">
      <pre tabIndex={0}>{lines}</pre>
      <CopyButton text={lines} wide />
    </div>
  );
}
