import type { ReactNode } from "react";
import type { Row } from "../api/types.js";
import type { Format } from "../i18n/format.js";
import { PageLink } from "../top.js";
import { Id } from "../ui/id.js";
import type { Sort } from "./filter.js";
import { StatusMark } from "./status.js";

/** The values that cells need beside their row. */
export interface CellContext {
  readonly f: Format;
  readonly age: string;
  /** The placeholder for texts that the user may not see. */
  readonly hidden: string | undefined;
  readonly lastError: (code: string) => string;
}

export interface Column {
  readonly sort: Sort;
  /** Whether it is right-aligned. */
  readonly number?: boolean;
  readonly cell: (row: Row, c: CellContext) => ReactNode;
}

const count = (n: number, f: Format): string => (n === 0 ? "–" : f.number(n));

/** The columns of the table. Their texts have the keys of their sorts. */
export const columns: readonly Column[] = [
  {
    sort: "id",
    cell: (r) => (
      <PageLink className="mono" tabIndex={-1} to={{ page: "session", session: r.sessionId }}>
        {r.sessionId}
      </PageLink>
    ),
  },
  { sort: "user", cell: (r) => r.user },
  { sort: "title", cell: (r, { hidden }) => (hidden === undefined ? (r.title ?? "") : <span className="faint">{hidden}</span>) },
  { sort: "status", cell: (r) => <StatusMark row={r} /> },
  { sort: "owner", cell: (r) => <Id id={r.owner} /> },
  { sort: "position", number: true, cell: (r) => <span className="mono">{r.top ?? "–"}</span> },
  { sort: "tabs", number: true, cell: (r, { f }) => count(r.tabs, f) },
  { sort: "agents", number: true, cell: (r, { f }) => count(r.agents, f) },
  { sort: "queued", number: true, cell: (r, { f }) => count(r.queued, f) },
  { sort: "questions", number: true, cell: (r, { f }) => count(r.questions, f) },
  { sort: "budget", number: true, cell: (r) => (r.budget === 0 ? "–" : `${r.budget}%`) },
  {
    sort: "errors",
    number: true,
    cell: (r, { f, lastError }) => (
      <span className={r.errors > 0 ? "bad" : undefined} title={r.lastError === undefined ? undefined : lastError(r.lastError)}>
        {count(r.errors, f)}
      </span>
    ),
  },
  {
    sort: "cost",
    number: true,
    cell: (r, { f }) => (
      <>
        {r.tokens === 0 ? "–" : f.short(r.tokens)}
        {r.cost !== undefined && r.cost > 0 && ` / ${f.usd(r.cost)}`}
      </>
    ),
  },
  { sort: "updated", number: true, cell: (_, { age }) => age },
];
