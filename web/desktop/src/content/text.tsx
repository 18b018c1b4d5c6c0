import type { ReactNode } from "react";
import { useFollow } from "./follow.js";

/** Text as it is. */
export function PlainText({ text, label }: { text: string; label: string }): ReactNode {
  const follow = useFollow(text);
  return (
    <div {...follow} className="content-scroll" tabIndex={0} role="document" aria-label={label}>
      <pre className="content-text">{text}</pre>
    </div>
  );
}
