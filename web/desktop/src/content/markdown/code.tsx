import { type ReactNode, useEffect, useState } from "react";
import { useTexts } from "../../i18n/use.js";
import { content as texts } from "../../texts/content.js";
import { CopyButton } from "../../ui/copy.js";
import { type CodePiece, codeLanguage } from "./code-language.js";

interface CodeProps {
  lang: string;
  text: string;
  note?: string;
  /** Whether the text is still being written; it has no colours until its end. */
  growing?: boolean;
}

export function Code({ lang, text, note, growing = false }: CodeProps): ReactNode {
  const t = useTexts(texts);
  const pieces = usePieces(lang, growing ? "" : text);
  return (
    <figure className="md-code">
      <figcaption className="md-code-head">
        <span>{note ?? lang}</span>
        <CopyButton text={text} />
      </figcaption>
      <pre tabIndex={0} aria-label={lang === "" ? t.code : `${t.code}: ${lang}`}>
        <code>
          {pieces === undefined
            ? text
            : pieces.map((p, i) =>
                p.name === "" ? (
                  p.text
                ) : (
                  <span key={i} className={p.name}>
                    {p.text}
                  </span>
                ),
              )}
        </code>
      </pre>
    </figure>
  );
}

/** The length from which a code has no colours: parsing it would delay the page. */
const maxHighlighted = 30_000;

/** The coloured pieces of a code; undefined while the grammar loads, and for languages without one. */
function usePieces(lang: string, text: string): readonly CodePiece[] | undefined {
  const [found, setFound] = useState<{ text: string; pieces: readonly CodePiece[] }>();
  useEffect(() => {
    const language = codeLanguage(lang);
    if (language === undefined || text === "" || text.length > maxHighlighted) return;
    let over = false;
    import("../../files/editor.js").then(
      ({ highlight }) => over || setFound({ text, pieces: highlight(language, text) }),
      () => undefined, // without colours
    );
    return () => {
      over = true;
    };
  }, [lang, text]);
  return found?.text === text ? found.pieces : undefined;
}
