// The state that parts of the conversation share: the edited message, the rewind dialog, and older rows.

import { createContext, useCallback, useContext, useEffect, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import type { DesktopState, MonitorID } from "../../../core/src/index.js";
import type { MessageEntry } from "../drawer/entries.js";
import { useCommands, useEvents, useShell } from "../shell/context.js";
import { allRows, hasFewRows, isFull, isRewound, mayHaveOlder, noOlder, type Older, oldestId, pageSize, withEvicted, withoutRewound, withPage } from "./older.js";

export interface MessageActions {
  /** The ts of the row that is being edited. */
  readonly editing: number | undefined;
  edit: (ts: number | undefined) => void;
  /** Saves the text of the editor, so that it outlives the row; undefined once it was sent. */
  saveDraft: (draft: string | undefined) => void;
  /** All known rows. */
  rows: () => DesktopState["rows"];
  /** Opens the rewind dialog; with `back` the text returns to the command bar afterwards. */
  rewind: (entry: MessageEntry, back: boolean) => void;
}

export const MessageActionsContext = createContext<MessageActions | undefined>(undefined);

export function useMessageActions(): MessageActions | undefined {
  return useContext(MessageActionsContext);
}

/** The ts of the row that the user was led to. */
export const FoundContext = createContext<number | undefined>(undefined);

export function useFound(): number | undefined {
  return useContext(FoundContext);
}

export interface OlderRows {
  /** The rows of the desktop state and older ones. */
  readonly rows: DesktopState["rows"];
  readonly state: "none" | "more" | "busy" | "failed" | "full";
  /** Loads one more page; resolves to whether there may be another. */
  load: () => Promise<boolean>;
}

/** The rows of a monitor with the loaded part of its archive; for all monitors, only the rows of the desktop state. */
export function useOlderRows(monitor: MonitorID | undefined): OlderRows {
  const commands = useCommands();
  const session = useShell((s) => s.session);
  const rows = useShell((s) => s.desktop.rows);
  const revision = useShell((s) => (monitor === undefined ? 0 : (s.desktop.monitors.get(monitor)?.revision ?? 0)));
  const [held, setHeld] = useState<{ monitor: MonitorID | undefined; older: Older }>({ monitor, older: noOlder });
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState(false);
  const older = held.monitor === monitor ? held.older : noOlder;
  const all = useMemo(() => allRows(older, rows), [older, rows]);
  const latest = useRef({ all, older, monitor });
  latest.current = { all, older, monitor };
  const before = useRef(rows);
  /** The number of rewinds and reloads. A page that was requested before one may contain removed rows. */
  const rewinds = useRef(0);

  const change = useCallback((next: (o: Older) => Older): void => {
    setHeld((h) => {
      const o = h.monitor === latest.current.monitor ? h.older : noOlder;
      const changed = next(o);
      return changed === o && h.monitor === latest.current.monitor ? h : { monitor: latest.current.monitor, older: changed };
    });
  }, []);

  useEvents((e) => {
    if (e.type === "HISTORY_REWOUND" || e.type === "session_state") rewinds.current++;
    if (e.type === "session_state" && e.data.mode === "snapshot") {
      before.current = new Map();
      change(() => noOlder);
    } else if (e.type === "HISTORY_REWOUND") {
      before.current = new Map([...before.current].filter(([, r]) => !isRewound(r.row, e.data)));
      change((o) => withoutRewound(o, e.data));
    }
  });
  useEffect(() => {
    const was = before.current;
    before.current = rows;
    if (monitor !== undefined && was !== rows) change((o) => withEvicted(o, was, rows, monitor));
  }, [rows, monitor, change]);

  const running = useRef<Promise<boolean>>(undefined);
  const load = useCallback((): Promise<boolean> => {
    running.current ??= (async () => {
      const { all: known, monitor: of } = latest.current;
      const requestedAt = rewinds.current;
      if (of === undefined || isFull(latest.current.older)) return false;
      setBusy(true);
      setFailed(false);
      try {
        const page = await commands.api.rows(session, { monitor: of, limit: pageSize, before: oldestId(known, of) });
        if (latest.current.monitor !== of) return false;
        if (rewinds.current !== requestedAt) return true;
        // The caller finds the rows rendered.
        flushSync(() => change((o) => withPage(o, page.rows, page.more)));
        return page.more && page.rows.length > 0;
      } catch {
        setFailed(true);
        return false;
      } finally {
        setBusy(false);
        running.current = undefined;
      }
    })();
    return running.current;
  }, [commands, session, change]);

  const may = monitor !== undefined && mayHaveOlder(older, rows, revision);
  // With too few rows there is nothing to scroll, so the first page is loaded automatically. It may be empty: the ids
  // of removed rows are not used again.
  const automatic = may && older.more === undefined && !busy && !failed && hasFewRows(rows, monitor);
  useEffect(() => {
    if (automatic) void load();
  }, [automatic, load]);
  const state = busy ? "busy" : failed ? "failed" : !may ? "none" : isFull(older) ? "full" : "more";
  return { rows: all, state, load };
}
