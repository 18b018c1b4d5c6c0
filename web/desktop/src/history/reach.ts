// What the parts of the conversation share: which message is being edited, what is to be rewound, and older rows.

import { createContext, useCallback, useContext, useEffect, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import type { DesktopState, MonitorID } from "../../../core/src/index.js";
import type { MessageEntry } from "../drawer/entries.js";
import { useCommands, useEvents, useShell } from "../shell/context.js";
import { allRows, goes, isFull, isShort, mayHaveOlder, noOlder, type Older, oldestId, pageSize, withFallen, withoutRewound, withPage } from "./older.js";

export interface Reach {
  /** The row that is being edited, by its ts. */
  readonly editing: number | undefined;
  edit: (ts: number | undefined) => void;
  /** Keeps what is typed there, so that it outlives the row; undefined once it was sent. */
  keep: (draft: string | undefined) => void;
  /** All rows that are known now. */
  rows: () => DesktopState["rows"];
  /** Shows what would go; with `back` its text is put into the command bar afterwards. */
  rewind: (entry: MessageEntry, back: boolean) => void;
}

export const ReachContext = createContext<Reach | undefined>(undefined);

export function useReach(): Reach | undefined {
  return useContext(ReachContext);
}

/** The row that was gone to, by its ts. */
export const FoundContext = createContext<number | undefined>(undefined);

export function useFound(): number | undefined {
  return useContext(FoundContext);
}

export interface OlderRows {
  /** All rows there are, the desktop's and older ones. */
  readonly rows: DesktopState["rows"];
  readonly state: "none" | "more" | "busy" | "failed" | "full";
  /** Reads one more page. Gives whether there may be another. */
  load: () => Promise<boolean>;
}

/** The rows of a monitor with as much of its archive as somebody wanted to see; of all monitors, those of the desktop. */
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
  /** How often rows were taken away. What was read before that may have them still. */
  const cuts = useRef(0);

  const change = useCallback((next: (o: Older) => Older): void => {
    setHeld((h) => {
      const o = h.monitor === latest.current.monitor ? h.older : noOlder;
      const changed = next(o);
      return changed === o && h.monitor === latest.current.monitor ? h : { monitor: latest.current.monitor, older: changed };
    });
  }, []);

  useEvents((e) => {
    if (e.type === "HISTORY_REWOUND" || e.type === "session_state") cuts.current++;
    if (e.type === "session_state" && e.data.mode === "snapshot") {
      before.current = new Map();
      change(() => noOlder);
    } else if (e.type === "HISTORY_REWOUND") {
      before.current = new Map([...before.current].filter(([, r]) => !goes(r.row, e.data)));
      change((o) => withoutRewound(o, e.data));
    }
  });
  useEffect(() => {
    const was = before.current;
    before.current = rows;
    if (monitor !== undefined && was !== rows) change((o) => withFallen(o, was, rows, monitor));
  }, [rows, monitor, change]);

  const running = useRef<Promise<boolean>>(undefined);
  const load = useCallback((): Promise<boolean> => {
    running.current ??= (async () => {
      const { all: known, monitor: of } = latest.current;
      const at = cuts.current;
      if (of === undefined || isFull(latest.current.older)) return false;
      setBusy(true);
      setFailed(false);
      try {
        const page = await commands.api.rows(session, { monitor: of, limit: pageSize, before: oldestId(known, of) });
        if (latest.current.monitor !== of) return false;
        if (cuts.current !== at) return true;
        // Who waits for the rows finds them drawn.
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
  // Who has too little to scroll cannot go to the beginning. There may be nothing, too: ids of rows that were taken back are not given again.
  const alone = may && older.more === undefined && !busy && !failed && isShort(rows, monitor);
  useEffect(() => {
    if (alone) void load();
  }, [alone, load]);
  const state = busy ? "busy" : failed ? "failed" : !may ? "none" : isFull(older) ? "full" : "more";
  return { rows: all, state, load };
}
