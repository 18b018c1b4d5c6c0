import { type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import { Charts } from "../charts/index.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { Replicas } from "../replicas/index.js";
import { useActions, usePage } from "../state/use.js";
import { table as texts } from "../texts.js";
import { readView, rowsOfView, type View, writeView } from "./filter.js";
import { Filters } from "./filters.js";
import { Grid } from "./grid.js";

/** The page with all replicas and sessions. */
export function SessionsPage({ query }: { query: string }): ReactNode {
  const t = useTexts(texts);
  const { go, store } = useActions();
  const table = usePage((s) => s.paused ?? s.table);
  const paused = usePage((s) => s.paused !== undefined);
  const view = useMemo(() => readView(query), [query]);
  const rows = useMemo(() => rowsOfView(table.rows.values(), view), [table.rows, view]);
  const change = useCallback(
    (next: Partial<View>) => {
      const { route } = store.getState();
      const now = readView(route.page === "sessions" ? route.query : "");
      go({ page: "sessions", query: writeView({ ...now, ...next }) }, true);
    },
    [go, store],
  );
  return (
    <div className="sessions">
      <h1 className="hidden-text">{t.sessions}</h1>
      <Replicas />
      <Charts />
      <Filters view={view} rows={rows} onChange={change} />
      <Count shown={rows.length} all={table.rows.size} paused={paused} />
      <div className="sessions-table">
        <Grid rows={rows} view={view} onSort={change} />
        {rows.length === 0 && <p className="sessions-none">{!table.complete ? t.waiting : table.rows.size === 0 ? t.none : t.noneFits}</p>}
      </div>
    </div>
  );
}

/** The number of rows; screen readers announce it at most once per second. */
function Count({ shown, all, paused }: { shown: number; all: number; paused: boolean }): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  const text = t.count(f.number(shown), f.number(all));
  const [announced, setAnnounced] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setAnnounced(text), 1000);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <p className="sessions-count" data-shown={shown} data-all={all}>
      <span aria-hidden>{text}</span>
      <span className="hidden-text" role="status">
        {announced}
      </span>
      {paused && <strong> {t.pausedSince}</strong>}
    </p>
  );
}
