import { memo, type ReactNode } from "react";
import { useWords } from "../../i18n/use.js";
import { CopyButton } from "../../ui/copy.js";
import texts from "../words.js";
import { Diagram } from "./diagram.js";

/** A block of code; a diagram if it is one and nothing is to come any more. */
export const CodeBlock = memo(function CodeBlock({ lang, text, growing = false }: { lang: string; text: string; growing?: boolean }): ReactNode {
  return lang === "mermaid" && !growing ? <Diagram source={text} /> : <Code lang={lang} text={text} />;
});

export function Code({ lang, text, note }: { lang: string; text: string; note?: string }): ReactNode {
  const t = useWords(texts);
  return (
    <figure className="md-code">
      <figcaption className="md-code-head">
        <span>{note ?? lang}</span>
        <CopyButton text={text} />
      </figcaption>
      <pre tabIndex={0} aria-label={lang === "" ? t.code : `${t.code}: ${lang}`}>
        <code>{text}</code>
      </pre>
    </figure>
  );
}
