import type { ReactNode } from "react";
import { useTexts } from "../../i18n/use.js";
import { content as texts } from "../../texts/entry.js";
import { CopyButton } from "../../ui/copy.js";

export function Code({ lang, text, note }: { lang: string; text: string; note?: string }): ReactNode {
  const t = useTexts(texts);
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
