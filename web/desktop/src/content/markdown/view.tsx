// Formatted text. It is loaded on demand, with its parser and sanitizer.

import { type MouseEvent, memo, type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { linkNames, useFileLinks, useNamePattern } from "../../files/linked.js";
import { useTexts } from "../../i18n/use.js";
import { useShell } from "../../shell/context.js";
import { content as texts } from "../../texts/content.js";
import { externalURL } from "../addresses.js";
import { LeaveDialog } from "../leave-dialog.js";
import { htmlOf, type Links, type Split, split } from "./blocks.js";
import { CodeBlock } from "./code-block.js";
import { type Decorated, decorate } from "./decorate.js";
import { Plain } from "./plain.js";
import { sanitize } from "./sanitize.js";
import { pageClock, TimeSlices } from "./time-slices.js";

/** All texts of the page share the time slices. */
const slices = new TimeSlices(pageClock);

export default function MarkdownView({ text, streaming = false }: { text: string; streaming?: boolean }): ReactNode {
  const before = useRef<Split>(undefined);
  const read = useMemo(() => split(text, before.current), [text]);
  useLayoutEffect(() => {
    before.current = read;
  }, [read]);
  const { blocks, links } = read;
  const [leave, setLeave] = useState("");

  const openFile = useFileLinks();
  const follow = (e: MouseEvent): void => {
    if (openFile(e)) return;
    const link = e.target instanceof Element ? e.target.closest("a") : null;
    const to = link?.getAttribute("href") ?? null;
    if (to === null || to.startsWith("/")) return; // a file of the session
    e.preventDefault();
    setLeave(externalURL(to) ?? "");
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
      {leave !== "" && <LeaveDialog address={leave} onClose={() => setLeave("")} />}
    </div>
  );
}

/** One block. It is inserted as nodes, never as HTML text. */
const Block = memo(function Block({ raw, links }: { raw: string; links: Links }): ReactNode {
  const decorated = useDecorated(raw, links);
  return decorated === undefined ? <Plain text={raw} /> : <DecoratedBlock {...decorated} />;
});

function DecoratedBlock({ nodes, slots }: Decorated): ReactNode {
  const ref = useRef<HTMLDivElement>(null);
  const session = useShell((s) => s.session);
  const pattern = useNamePattern();
  useLayoutEffect(() => ref.current?.replaceChildren(...nodes), [nodes]);
  useLayoutEffect(() => {
    if (pattern !== undefined) linkNames(ref.current!, session, pattern);
  }, [nodes, session, pattern]);
  return (
    <>
      <div ref={ref} className="md-block" />
      {slots.map((slot, i) => createPortal(<CodeBlock lang={slot.lang} text={slot.text} />, slot.at, `${i}`))}
    </>
  );
}

interface Formatted {
  readonly raw: string;
  /** Undefined if the block is shown without formatting. */
  readonly decorated: Decorated | undefined;
}

/** The nodes of a block: at once if the time slice allows it, else soon. Until then a growing block stays as it was. */
function useDecorated(raw: string, links: Links): Decorated | undefined {
  const t = useTexts(texts);
  const session = useShell((s) => s.session);
  const { format, atOnce } = useMemo(() => {
    const format = (): Formatted => {
      const html = htmlOf(raw, links);
      return { raw, decorated: html === undefined ? undefined : decorate(sanitize(html), session, t) };
    };
    return { format, atOnce: slices.runNow(format) };
  }, [raw, links, session, t]);
  const [deferred, setDeferred] = useState<Formatted>();
  const shown = useRef<Formatted>(undefined);
  useEffect(() => (atOnce === undefined ? slices.enqueue(() => setDeferred(format())) : undefined), [format, atOnce]);
  const current = atOnce ?? (deferred?.raw === raw ? deferred : undefined);
  useLayoutEffect(() => {
    shown.current = current ?? shown.current;
  }, [current]);
  if (current !== undefined) return current.decorated;
  return shown.current !== undefined && raw.startsWith(shown.current.raw) ? shown.current.decorated : undefined;
}
