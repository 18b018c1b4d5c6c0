import { lazy, type ReactNode, Suspense, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { plan as texts } from "../texts/plan.js";
import { Button } from "../ui/button.js";
import { CopyButton } from "../ui/copy.js";

// The source of the plan's diagram. The panel draws the graph with its own code, which is far smaller than a diagram
// library and works with the keyboard; the source is for use elsewhere. A model may have written it, so it is drawn
// only in the sandboxed frame for diagrams, never in this page.
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
