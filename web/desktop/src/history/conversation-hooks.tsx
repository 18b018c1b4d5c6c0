import { History } from "lucide-react";
import { type ReactNode, type RefObject, useCallback, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type DesktopState, firstMonitor, type MonitorID } from "../../../core/src/index.js";
import { usePutBack } from "../dock/drafts.js";
import type { MessageEntry } from "../drawer/entries.js";
import { useTexts } from "../i18n/use.js";
import { PageContext, useCommands, useEvents } from "../shell/context.js";
import { history as texts } from "../texts/history.js";
import { Button } from "../ui/button.js";
import type { MessageActions, OlderRows } from "./conversation-state.js";

interface EditAndRewind {
  actions: MessageActions;
  /** The message that the open rewind dialog is about. */
  rewinding: { entry: MessageEntry; back: boolean } | undefined;
  stopRewinding: () => void;
}

/**
 * The state of editing and rewinding. If the row of an edited message disappears, its text goes into the command bar.
 */
export function useEditAndRewind(monitor: MonitorID, rows: DesktopState["rows"], scroller: RefObject<HTMLDivElement | null>): EditAndRewind {
  const t = useTexts(texts);
  const commands = useCommands();
  const putBack = usePutBack(monitor);
  const [editing, setEditing] = useState<number>();
  const [rewinding, setRewinding] = useState<EditAndRewind["rewinding"]>();
  const draft = useRef<string>(undefined);
  const latest = useRef(rows);
  latest.current = rows;
  /** Moves a lost focus to the menu of a row, or to the list. */
  const restoreFocus = useCallback(
    (ts?: number) => {
      requestAnimationFrame(() => {
        const lost = document.activeElement === document.body || document.activeElement === null;
        const there = ts === undefined ? undefined : scroller.current?.querySelector<HTMLElement>(`[data-row="${ts}"] .history-more`);
        if (lost) (there ?? scroller.current)?.focus({ preventScroll: true });
      });
    },
    [scroller],
  );
  const actions = useMemo<MessageActions>(
    () => ({
      editing,
      edit: (ts) => {
        draft.current = undefined;
        setEditing(ts);
        if (ts === undefined) restoreFocus(editing);
      },
      rows: () => latest.current,
      saveDraft: (text) => {
        draft.current = text;
      },
      rewind: (entry, back) => setRewinding({ entry, back }),
    }),
    [editing, restoreFocus],
  );
  const rowGone = editing !== undefined && !rows.has(editing);
  const onRowGone = useRef(() => undefined as void);
  onRowGone.current = () => {
    const text = draft.current;
    actions.edit(undefined);
    if (text === undefined) return;
    putBack(text);
    commands.notify(t.editLost, "warning", 8000);
  };
  useEffect(() => {
    if (rowGone) onRowGone.current();
  }, [rowGone]);
  const stopRewinding = useCallback(() => {
    setRewinding(undefined);
    restoreFocus();
  }, [restoreFocus]);
  return { actions, rewinding, stopRewinding };
}

/** Shows a notice when rows were removed by a rewind, here or elsewhere. */
export function useRewindNotices(shown: MonitorID | undefined): void {
  const t = useTexts(texts);
  const commands = useCommands();
  const page = useContext(PageContext);
  useEvents((e, replayed) => {
    // A reset of the desktop removes rows without a revision; that is no rewind.
    if (replayed || e.type !== "HISTORY_REWOUND" || !e.data.revision) return;
    if (shown !== undefined && (e.data.monitorId || firstMonitor) !== shown) return;
    // The outbox of the client is newer than the rendered one: the hub may answer before a sent message is rendered.
    const own = page?.client.state.outbox.items.find((i) => i.id === e.data.messageId);
    if (own === undefined) commands.notify(t.rewoundElsewhere);
    else if (own.type === "REWIND") commands.notify(t.rewound(e.data.removed));
  });
}

/** The row that the user was led to, and a function that leads to another. */
export function useGoTo(scroller: RefObject<HTMLDivElement | null>, leave: () => void): { found: number | undefined; goTo: (ts: number | undefined) => void } {
  const [to, setTo] = useState<{ ts: number | undefined }>({ ts: undefined });
  const goTo = useCallback((ts: number | undefined) => setTo({ ts }), []);
  useEffect(() => {
    if (to.ts === undefined) return;
    let marked: HTMLElement | undefined;
    // The row may be inside a collapsed group, which expands first.
    const frame = requestAnimationFrame(() => {
      // Not earlier: new rows may have scrolled to the end in the meantime.
      leave();
      marked = scroller.current?.querySelector<HTMLElement>(`[data-row="${to.ts}"]`) ?? undefined;
      marked?.scrollIntoView({ block: "center" });
      // If everything is visible, nothing scrolls, and the end is not left.
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

/**
 * Keeps the visible rows in place when rows are added before them. The returned function must be called just before.
 */
export function useKeepPosition(scroller: RefObject<HTMLDivElement | null>, rows: DesktopState["rows"]): () => void {
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

/** The distance from the beginning at which earlier rows are loaded, in px. */
const nearBeginning = 60;

/** Loads earlier rows: by a button, or by scrolling to the beginning. */
export function EarlierRows({ older: { state, load }, scroller, keepPlace }: EarlierProps): ReactNode {
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
      if (up && last < nearBeginning) more();
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
