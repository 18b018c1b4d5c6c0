// Which sessions are shown, and in which order. Both are in the address, with the parameters of the hub's own listing,
// so that a link shows the same to other users.

import { type Row, type Status, statuses } from "../api/types.js";

export const sorts = ["updated", "id", "user", "title", "status", "owner", "position", "tabs", "agents", "queued", "questions", "budget", "errors", "cost"] as const;

export type Sort = (typeof sorts)[number];

export interface View {
  readonly user: string;
  readonly status: Status | "";
  readonly owner: string;
  readonly text: string;
  /** Sessions that are stuck or stalled. */
  readonly stuck: boolean;
  readonly questions: boolean;
  readonly errors: boolean;
  /** Sessions without tabs. */
  readonly untabbed: boolean;
  readonly sort: Sort;
  readonly descending: boolean;
}

export const defaultView: View = {
  user: "",
  status: "",
  owner: "",
  text: "",
  stuck: false,
  questions: false,
  errors: false,
  untabbed: false,
  sort: "updated",
  descending: true,
};

/** Parses an address. Unknown values are ignored. */
export function readView(query: string): View {
  const q = new URLSearchParams(query);
  const status = q.get("status") ?? "";
  const sort = q.get("sort") ?? "";
  const known = (sorts as readonly string[]).includes(sort);
  return {
    user: q.get("user") ?? "",
    status: (statuses as readonly string[]).includes(status) ? (status as Status) : "",
    owner: q.get("owner") ?? "",
    text: q.get("text") ?? "",
    stuck: q.get("stuck") === "true",
    questions: q.get("questions") === "true",
    errors: q.get("errors") === "true",
    untabbed: q.get("tabs") === "0",
    sort: known ? (sort as Sort) : defaultView.sort,
    descending: known ? q.get("desc") === "true" : defaultView.descending,
  };
}

/** The query string of a view, without a question mark; empty for the default view. */
export function writeView(v: View): string {
  const q = new URLSearchParams();
  for (const name of ["user", "status", "owner", "text"] as const) if (v[name] !== "") q.set(name, v[name]);
  for (const name of ["stuck", "questions", "errors"] as const) if (v[name]) q.set(name, "true");
  if (v.untabbed) q.set("tabs", "0");
  if (v.sort !== defaultView.sort || v.descending !== defaultView.descending) {
    q.set("sort", v.sort);
    if (v.descending) q.set("desc", "true");
  }
  return q.toString();
}

/** Whether a filter is set. */
export function isFiltered(v: View): boolean {
  return writeView({ ...v, sort: defaultView.sort, descending: defaultView.descending }) !== "";
}

const halted: ReadonlySet<Status> = new Set(["stuck", "stalled"]);

export function viewFilter(v: View): (row: Row) => boolean {
  const text = v.text.trim().toLowerCase();
  const has = (s: string | undefined): boolean => s?.toLowerCase().includes(text) === true;
  return (row) =>
    (v.user === "" || row.user === v.user) &&
    (v.status === "" || row.status === v.status) &&
    (v.owner === "" || row.owner === v.owner) &&
    (!v.stuck || halted.has(row.status)) &&
    (!v.questions || row.questions > 0) &&
    (!v.errors || row.errors > 0) &&
    (!v.untabbed || row.tabs === 0) &&
    (text === "" || has(row.sessionId) || has(row.title) || has(row.user) || has(row.owner));
}

const rank = new Map(statuses.map((s, i) => [s, i]));

/** The sort key of a row. */
const keys: Record<Sort, (row: Row) => number | string> = {
  updated: (r) => r.updatedAt,
  id: (r) => r.sessionId,
  user: (r) => r.user,
  title: (r) => r.title ?? "",
  status: (r) => rank.get(r.status) ?? statuses.length,
  owner: (r) => r.owner ?? "",
  position: (r) => sortablePosition(r.top),
  tabs: (r) => r.tabs,
  agents: (r) => r.agents,
  queued: (r) => r.queued,
  questions: (r) => r.questions,
  budget: (r) => r.budget,
  errors: (r) => r.errors,
  // Rows without costs are ordered by their tokens.
  cost: (r) => (r.cost ?? 0) * 1e12 + r.tokens,
};

/** A position in a form that sorts as text. */
function sortablePosition(position: string | undefined): string {
  const [epoch = "", seq = ""] = (position ?? "0-0").split("-");
  return `${epoch.padStart(20, "0")}-${seq.padStart(20, "0")}`;
}

/** The rows of a view, sorted; equal rows by their id. */
export function rowsOfView(rows: Iterable<Row>, v: View): Row[] {
  const matches = viewFilter(v);
  const key = keys[v.sort];
  const found: { row: Row; key: number | string }[] = [];
  for (const row of rows) if (matches(row)) found.push({ row, key: key(row) });
  const direction = v.descending ? -1 : 1;
  found.sort((a, b) => {
    if (a.key !== b.key) return a.key < b.key ? -direction : direction;
    return a.row.sessionId < b.row.sessionId ? -1 : 1;
  });
  return found.map((f) => f.row);
}
