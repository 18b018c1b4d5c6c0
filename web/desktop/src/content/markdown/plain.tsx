import { memo, type ReactNode, useMemo } from "react";
import { piecesOf } from "./pieces.js";
import "./plain.css";

/** Text without formatting. A long text is rendered in pieces, of which the browser lays out only the visible ones. */
export const Plain = memo(function Plain({ text }: { text: string }): ReactNode {
  const pieces = useMemo(() => piecesOf(text), [text]);
  if (pieces.length === 1) return <p className="md-plain">{pieces[0]}</p>;
  return (
    <div className="md-plain">
      {pieces.map((piece, i) => (
        <div key={i} className="md-piece">
          {piece}
        </div>
      ))}
    </div>
  );
});
