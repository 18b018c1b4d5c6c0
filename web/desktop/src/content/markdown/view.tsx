// Formatted text. It is loaded apart from the page, with all that it needs to read and clean what agents write.

import { type MouseEvent, memo, type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { useTexts } from "../../i18n/use.js";
import { useShell } from "../../shell/context.js";
import { content as texts } from "../../texts/entry.js";
import { outside } from "../addresses.js";
import { Leave } from "../leave.js";
import { htmlOf, type Links, type Split, split } from "./blocks.js";
import { clean } from "./clean.js";
import { CodeBlock } from "./code-block.js";
import { type Decorated, decorate } from "./decorate.js";
import { Plain } from "./plain.js";
import { pageClock, Turns } from "./turns.js";

/** All texts of the page share its time. */
const turns = new Turns(pageClock);

export default function MarkdownView({ text, streaming = false }: { text: string; streaming?: boolean }): ReactNode {
  const before = useRef<Split>(undefined);
  const read = useMemo(() => split(text, before.current), [text]);
  useLayoutEffect(() => {
    before.current = read;
  }, [read]);
  const { blocks, links } = read;
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
      {blocks.map(({ at, raw, code, plain }, i) =>
        code !== undefined ? (
          <CodeBlock key={at} lang={code.lang} text={code.text} growing={streaming && i === blocks.length - 1} />
        ) : plain ? (
          <Plain key={at} text={raw} />
        ) : (
          <Block key={at} raw={raw} links={links} />
        ),
      )}
      {leave !== "" && <Leave address={leave} onClose={() => setLeave("")} />}
    </div>
  );
}

/** One block. The page gets nodes, never HTML as text. */
const Block = memo(function Block({ raw, links }: { raw: string; links: Links }): ReactNode {
  const dressed = useDecorated(raw, links);
  return dressed === undefined ? <Plain text={raw} /> : <DecoratedBlock {...dressed} />;
});

function DecoratedBlock({ nodes, slots }: Decorated): ReactNode {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => ref.current?.replaceChildren(...nodes), [nodes]);
  return (
    <>
      <div ref={ref} className="md-block" />
      {slots.map((slot, i) => createPortal(<CodeBlock lang={slot.lang} text={slot.text} />, slot.at, `${i}`))}
    </>
  );
}

interface Formatted {
  readonly raw: string;
  /** Nothing if it is to be shown as it is. */
  readonly dressed: Decorated | undefined;
}

/** A block as nodes: at once if there is time, and else soon. Until then a block that grows stays as it was. */
function useDecorated(raw: string, links: Links): Decorated | undefined {
  const t = useTexts(texts);
  const session = useShell((s) => s.session);
  const { format, atOnce } = useMemo(() => {
    const format = (): Formatted => {
      const html = htmlOf(raw, links);
      return { raw, dressed: html === undefined ? undefined : decorate(clean(html), session, t) };
    };
    return { format, atOnce: turns.now(format) };
  }, [raw, links, session, t]);
  const [late, setLate] = useState<Formatted>();
  const shown = useRef<Formatted>(undefined);
  useEffect(() => (atOnce === undefined ? turns.wait(() => setLate(format())) : undefined), [format, atOnce]);
  const current = atOnce ?? (late?.raw === raw ? late : undefined);
  useLayoutEffect(() => {
    shown.current = current ?? shown.current;
  }, [current]);
  if (current !== undefined) return current.dressed;
  return shown.current !== undefined && raw.startsWith(shown.current.raw) ? shown.current.dressed : undefined;
}
