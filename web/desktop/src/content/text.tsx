import type { ReactNode } from "react";
import { useFollowEnd } from "./follow-end.js";
import { pieceElement, usePieces } from "./markdown/plain.js";

/** Text without formatting. */
export function PlainText({ text, label }: { text: string; label: string }): ReactNode {
  const follow = useFollowEnd(text);
  const pieces = usePieces(text);
  return (
    <div {...follow} className="content-scroll" tabIndex={0} role="document" aria-label={label}>
      <pre className="content-text">{pieces.length <= 1 ? text : pieces.map(pieceElement)}</pre>
    </div>
  );
}
