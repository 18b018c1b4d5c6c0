import { lazy, type ReactNode, Suspense, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { plan as texts } from "../texts/parts.js";
import { Button } from "../ui/button.js";
import { CopyButton } from "../ui/copy.js";

// The plan is drawn by our own code, which needs a hundredth of what a library for diagrams does and is walked through
// with the keys. The source is for those who want it elsewhere. Since a model may have written what is in it, it is
// drawn from only in the sealed frame that draws the diagrams of texts, and never in this page.
const Diagram = lazy(async () => ({ default: (await import("../content/markdown/diagram.js")).Diagram }));

/** The plan as the source of a diagram. */
export default function Source({ text }: { text: string }): ReactNode {
  const t = useTexts(texts);
  const [drawn, setDrawn] = useState(false);
  return (
    <>
      <div className="plan-buttons">
        <CopyButton wide text={text} label={t.sourceCopy} />
        <Button size="sm" kind="ghost" onClick={() => setDrawn(!drawn)}>
          {drawn ? t.asText : t.draw}
        </Button>
      </div>
      {drawn ? (
        <Suspense fallback={<p>{t.loading}</p>}>
          <Diagram source={text} />
        </Suspense>
      ) : (
        <pre className="plan-source-text" tabIndex={0} role="group" aria-label={t.source}>
          {text}
        </pre>
      )}
    </>
  );
}
