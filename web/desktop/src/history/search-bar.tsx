import { ChevronDown, ChevronUp, X } from "lucide-react";
import { type ReactNode, type RefObject, useDeferredValue, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Entry, MessageEntry, RowEntry } from "../drawer/entries.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { history as texts } from "../texts/history.js";
import { Button, IconButton } from "../ui/button.js";
import { isComposing } from "../ui/keys.js";
import type { OlderRows } from "./conversation-state.js";
import { hitsOf, matchRanges, stepTo } from "./find.js";

interface Props {
  entries: readonly Entry[];
  older: OlderRows;
  found: number | undefined;
  /** The text entered before the search was loaded. */
  begin: RefObject<string>;
  scroller: RefObject<HTMLDivElement | null>;
  onFound: (ts: number | undefined) => void;
  onClose: () => void;
}

/** The maximum number of pages to load per click. */
const maxPages = 10;

/** Searches the loaded conversation, and older rows on demand. */
export function SearchBar({ entries, older, found, begin, scroller, onFound, onClose }: Props): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const field = useRef<HTMLInputElement>(null);
  const [query, setQuery] = useState("");
  const wanted = useDeferredValue(query);
  const hits = useMemo(() => hitsOf(entries, wanted), [entries, wanted]);
  const [searching, setSearching] = useState(false);
  const latest = useRef(hits);
  latest.current = hits;
  useHighlights(scroller, wanted, entries, found);
  // Not earlier: the text may have been entered after this component rendered and before it was shown.
  useLayoutEffect(() => {
    setQuery(begin.current);
    begin.current = "";
    field.current!.focus();
  }, [begin]);
  const leave = useRef(onFound);
  leave.current = onFound;
  useEffect(() => () => leave.current(undefined), []);

  const names = hits.map((h) => String(h.ts));
  const at = names.indexOf(String(found));
  const go = (step: 1 | -1): void => {
    const to = stepTo(names, at < 0 ? undefined : names[at], step);
    if (to !== undefined) onFound(Number(to));
  };
  const searchOlder = async (): Promise<void> => {
    setSearching(true);
    const had = latest.current.length;
    for (let n = 0; n < maxPages; n++) {
      const more = await older.load();
      const fresh = latest.current.length - had;
      if (fresh > 0) onFound(latest.current[fresh - 1]!.ts);
      if (fresh > 0 || !more) break;
    }
    setSearching(false);
  };
  const hasQuery = wanted.trim() !== "";
  const oldest = entries.find((e): e is MessageEntry | RowEntry => e.kind !== "day");
  return (
    <div className="history-search" role="search">
      <div className="history-search-line">
        <input
          ref={field}
          type="search"
          value={query}
          placeholder={t.find}
          aria-label={t.findIn}
          onChange={(e) => setQuery(e.target.value)}
          onKeyDown={(e) => {
            if (isComposing(e)) return;
            if (e.key === "Enter") {
              e.preventDefault();
              go(e.shiftKey ? 1 : -1);
            } else if (e.key === "Escape") {
              e.preventDefault();
              e.stopPropagation();
              onClose();
            }
          }}
        />
        <span className="history-search-count" role="status">
          {hasQuery && (hits.length === 0 ? t.foundNone : t.found(at < 0 ? 0 : at + 1, hits.length))}
        </span>
        <IconButton icon={ChevronUp} label={t.findPrevious} disabled={hits.length === 0} onClick={() => go(-1)} />
        <IconButton icon={ChevronDown} label={t.findNext} disabled={hits.length === 0} onClick={() => go(1)} />
        <IconButton icon={X} label={t.findClose} onClick={onClose} />
      </div>
      {hasQuery && (
        <div className="history-search-older">
          <span>{older.state === "none" ? t.searchedAll : oldest === undefined ? "" : t.searchedTo(format.moment(oldest.ts))}</span>
          {(older.state === "more" || older.state === "failed" || searching) && (
            <Button size="sm" kind="ghost" disabled={searching} onClick={() => void searchOlder()}>
              {searching ? t.findOlderBusy : t.findOlder}
            </Button>
          )}
        </div>
      )}
    </div>
  );
}

const maxHighlights = 2_000;

/** Highlights the matches without changing the document. Browsers without that API only mark the row. */
function useHighlights(scroller: RefObject<HTMLDivElement | null>, query: string, entries: readonly Entry[], found: number | undefined): void {
  useEffect(() => {
    if (typeof Highlight === "undefined") return;
    const frame = requestAnimationFrame(() => {
      const ranges: Range[] = [];
      const nodes = document.createTreeWalker(scroller.current!, NodeFilter.SHOW_TEXT);
      for (let node = nodes.nextNode(); node !== null && ranges.length < maxHighlights; node = nodes.nextNode()) {
        for (const [from, to] of matchRanges(node.textContent ?? "", query)) {
          const range = new Range();
          range.setStart(node, from);
          range.setEnd(node, to);
          ranges.push(range);
        }
      }
      CSS.highlights.set("history", new Highlight(...ranges));
    });
    return () => {
      cancelAnimationFrame(frame);
      CSS.highlights.delete("history");
    };
  }, [scroller, query, entries, found]);
}
