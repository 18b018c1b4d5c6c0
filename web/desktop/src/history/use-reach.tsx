import { History } from "lucide-react";
import { type ReactNode, type RefObject, useCallback, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type DesktopState, firstMonitor, type MonitorID } from "../../../core/src/index.js";
import { usePutBack } from "../dock/drafts.js";
import type { MessageEntry } from "../drawer/entries.js";
import { useTexts } from "../i18n/use.js";
import { PageContext, useCommands, useEvents } from "../shell/context.js";
import { history as texts } from "../texts/parts.js";
import { Button } from "../ui/button.js";
import type { OlderRows, Reach } from "./reach.js";

interface Reaching {
  reach: Reach;
  /** What somebody looks at before it is rewound. */
  rewinding: { entry: MessageEntry; back: boolean } | undefined;
  stopRewinding: () => void;
}

/** Which message is edited, and which is to be taken back. A text whose row goes away goes into the command bar. */
export function useReaching(monitor: MonitorID, rows: DesktopState["rows"], scroller: RefObject<HTMLDivElement | null>): Reaching {
  const t = useTexts(texts);
  const commands = useCommands();
  const putBack = usePutBack(monitor);
  const [editing, setEditing] = useState<number>();
  const [rewinding, setRewinding] = useState<Reaching["rewinding"]>();
  const draft = useRef<string>(undefined);
  const latest = useRef(rows);
  latest.current = rows;
  /** Whoever was in what is gone is led to where it was, or to the whole. */
  const comeBack = useCallback(
    (ts?: number) => {
      requestAnimationFrame(() => {
        const lost = document.activeElement === document.body || document.activeElement === null;
        const there = ts === undefined ? undefined : scroller.current?.querySelector<HTMLElement>(`[data-row="${ts}"] .history-more`);
        if (lost) (there ?? scroller.current)?.focus({ preventScroll: true });
      });
    },
    [scroller],
  );
  const reach = useMemo<Reach>(
    () => ({
      editing,
      edit: (ts) => {
        draft.current = undefined;
        setEditing(ts);
        if (ts === undefined) comeBack(editing);
      },
      rows: () => latest.current,
      keep: (text) => {
        draft.current = text;
      },
      rewind: (entry, back) => setRewinding({ entry, back }),
    }),
    [editing, comeBack],
  );
  const gone = editing !== undefined && !rows.has(editing);
  const lose = useRef(() => undefined as void);
  lose.current = () => {
    const text = draft.current;
    reach.edit(undefined);
    if (text === undefined) return;
    putBack(text);
    commands.notify(t.editLost, "warning", 8000);
  };
  useEffect(() => {
    if (gone) lose.current();
  }, [gone]);
  const stopRewinding = useCallback(() => {
    setRewinding(undefined);
    comeBack();
  }, [comeBack]);
  return { reach, rewinding, stopRewinding };
}

/** Says that rows are gone, and who wanted that. */
export function useRewinds(shown: MonitorID | undefined): void {
  const t = useTexts(texts);
  const commands = useCommands();
  const page = useContext(PageContext);
  useEvents((e, replayed) => {
    // Rows that go with a whole desktop are no rewind.
    if (replayed || e.type !== "HISTORY_REWOUND" || !e.data.revision) return;
    if (shown !== undefined && (e.data.monitorId || firstMonitor) !== shown) return;
    // The hub may answer before what was sent is drawn.
    const mine = page?.client.state.outbox.items.find((i) => i.id === e.data.messageId);
    if (mine === undefined) commands.notify(t.rewoundElsewhere);
    else if (mine.type === "REWIND") commands.notify(t.rewound(e.data.removed));
  });
}

/** The row that somebody was led to, and a way to lead them. */
export function useGoTo(scroller: RefObject<HTMLDivElement | null>, leave: () => void): { found: number | undefined; goTo: (ts: number | undefined) => void } {
  const [to, setTo] = useState<{ ts: number | undefined }>({ ts: undefined });
  const goTo = useCallback((ts: number | undefined) => setTo({ ts }), []);
  useEffect(() => {
    if (to.ts === undefined) return;
    let marked: HTMLElement | undefined;
    // What it is folded into opens first.
    const frame = requestAnimationFrame(() => {
      // Only now: rows that came just before may have scrolled to the end meanwhile.
      leave();
      marked = scroller.current?.querySelector<HTMLElement>(`[data-row="${to.ts}"]`) ?? undefined;
      marked?.scrollIntoView({ block: "center" });
      // Where everything is in sight nothing was scrolled, and the end is not left.
      scroller.current?.dispatchEvent(new Event("scroll"));
      marked?.setAttribute("data-found", "");
    });
    return () => {
      cancelAnimationFrame(frame);
      marked?.removeAttribute("data-found");
    };
  }, [to, scroller, leave]);
  return { found: to.ts, goTo };
}

/** Holds the rows in sight where they are when others come before them. The function is called just before. */
export function useKeptPlace(scroller: RefObject<HTMLDivElement | null>, rows: DesktopState["rows"]): () => void {
  const held = useRef<{ ts: string; top: number }>(undefined);
  useLayoutEffect(() => {
    const place = held.current;
    const row = place === undefined ? undefined : scroller.current?.querySelector(`[data-row="${place.ts}"]`);
    if (!row) return;
    const moved = row.getBoundingClientRect().top - place!.top;
    if (Math.abs(moved) > 1) {
      scroller.current!.scrollTop += moved;
      held.current = undefined;
    }
  }, [rows, scroller]);
  return useCallback(() => {
    const box = scroller.current!;
    const top = box.getBoundingClientRect().top;
    const first = [...box.querySelectorAll("[data-row]")].find((r) => r.getBoundingClientRect().bottom > top);
    held.current = first === undefined ? undefined : { ts: first.getAttribute("data-row")!, top: first.getBoundingClientRect().top };
  }, [scroller]);
}

interface EarlierProps {
  older: OlderRows;
  scroller: RefObject<HTMLDivElement | null>;
  keepPlace: () => void;
}

/** So near to the beginning, in pixels, more is read. */
const near = 60;

/** What leads to rows before those that are shown: a button, and going to the beginning. */
export function Earlier({ older: { state, load }, scroller, keepPlace }: EarlierProps): ReactNode {
  const t = useTexts(texts);
  const more = useCallback(() => {
    keepPlace();
    void load();
  }, [keepPlace, load]);
  useEffect(() => {
    const box = scroller.current!;
    if (state !== "more") return;
    let last = box.scrollTop;
    const scrolled = (): void => {
      const up = box.scrollTop < last;
      last = box.scrollTop;
      if (up && last < near) more();
    };
    box.addEventListener("scroll", scrolled, { passive: true });
    return () => box.removeEventListener("scroll", scrolled);
  }, [state, more, scroller]);
  switch (state) {
    case "none":
      return null;
    case "full":
      return <p className="drawer-note">{t.earlierFull}</p>;
    case "busy":
      return (
        <p className="drawer-note" role="status">
          {t.earlierBusy}
        </p>
      );
  }
  return (
    <p className="drawer-note history-earlier">
      {state === "failed" && <span>{t.earlierFailed}</span>}
      <Button size="sm" kind="ghost" icon={History} onClick={more}>
        {state === "failed" ? t.retry : t.earlier}
      </Button>
    </p>
  );
}
