// Formatted text. It is loaded apart from the page, with all that it needs to read and clean what agents write.

import { memo, type MouseEvent, type ReactNode, useLayoutEffect, useMemo, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { useWords } from "../../i18n/use.js";
import { useShell } from "../../shell/context.js";
import { outside } from "../addresses.js";
import { Leave } from "../leave.js";
import texts from "../words.js";
import { htmlOf, type Links, type Split, split } from "./blocks.js";
import { clean } from "./clean.js";
import { CodeBlock } from "./code.js";
import { dress } from "./dress.js";

export default function MarkdownView({ text, streaming = false }: { text: string; streaming?: boolean }): ReactNode {
  const before = useRef<Split>(undefined);
  const { blocks, links } = useMemo(() => split(text, before.current), [text]);
  useLayoutEffect(() => {
    before.current = { text, blocks, links };
  }, [text, blocks, links]);
  const [leave, setLeave] = useState("");

  const follow = (e: MouseEvent): void => {
    const link = e.target instanceof Element ? e.target.closest("a") : null;
    const to = link?.getAttribute("href") ?? null;
    if (to === null || to.startsWith("/")) return; // a file of the session
    e.preventDefault();
    setLeave(outside(to) ?? "");
  };
  return (
    <div className="md" onClick={follow} onAuxClick={follow}>
      {blocks.map(({ at, raw, code }, i) =>
        code === undefined ? (
          <Block key={at} raw={raw} links={links} />
        ) : (
          <CodeBlock key={at} lang={code.lang} text={code.text} growing={streaming && i === blocks.length - 1} />
        ),
      )}
      {leave !== "" && <Leave address={leave} onClose={() => setLeave("")} />}
    </div>
  );
}

/** One block. The page gets nodes, never HTML as text. */
const Block = memo(function Block({ raw, links }: { raw: string; links: Links }): ReactNode {
  const t = useWords(texts);
  const session = useShell((s) => s.session);
  const { nodes, slots } = useMemo(() => dress(clean(htmlOf(raw, links)), session, t), [raw, links, session, t]);
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => ref.current?.replaceChildren(...nodes), [nodes]);
  return (
    <>
      <div ref={ref} className="md-block" />
      {slots.map((slot, i) => createPortal(<CodeBlock lang={slot.lang} text={slot.text} />, slot.at, `${i}`))}
    </>
  );
});
