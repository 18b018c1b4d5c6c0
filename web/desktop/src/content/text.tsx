import type { ReactNode } from "react";
import { useFollowEnd } from "./follow-end.js";

/** Text without formatting. */
export function PlainText({ text, label }: { text: string; label: string }): ReactNode {
  const follow = useFollowEnd(text);
  return (
    <div {...follow} className="content-scroll" tabIndex={0} role="document" aria-label={label}>
      <pre className="content-text">{text}</pre>
    </div>
  );
}
