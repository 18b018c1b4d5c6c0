import { memo, type ReactNode } from "react";
import { Code } from "./code.js";
import { Diagram } from "./diagram.js";

/** A code block. A complete mermaid block is drawn as a diagram. */
export const CodeBlock = memo(function CodeBlock({ lang, text, growing = false }: { lang: string; text: string; growing?: boolean }): ReactNode {
  return lang === "mermaid" && !growing ? <Diagram source={text} /> : <Code lang={lang} text={text} growing={growing} />;
});
