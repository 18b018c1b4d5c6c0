import { memo, type ReactNode, useLayoutEffect, useMemo, useRef } from "react";
import { type Pieces, piecesOf, withoutEmptyLines } from "./pieces.js";
import "./plain.css";

/** Text without formatting, without the empty lines around it. */
export const Plain = memo(function Plain({ text }: { text: string }): ReactNode {
  const shown = useMemo(() => withoutEmptyLines(text), [text]);
  const pieces = usePieces(shown);
  if (pieces.length <= 1) return <p className="md-plain">{shown}</p>;
  return <div className="md-plain">{pieces.map(pieceElement)}</div>;
});

/** The pieces of a text. The browser lays out only the visible ones, and of a growing text only the last changes. */
export function usePieces(text: string): readonly string[] {
  const before = useRef<Pieces>(undefined);
  const pieces = useMemo(() => piecesOf(text, before.current), [text]);
  useLayoutEffect(() => {
    before.current = pieces;
  }, [pieces]);
  return pieces.list;
}

/** The element of a piece. */
export function pieceElement(text: string, i: number): ReactNode {
  return (
    <div key={i} className="md-piece">
      {text}
    </div>
  );
}
