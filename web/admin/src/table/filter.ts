// Which sessions are shown and in which order. Both are in the address, in the words of the hub's own listing, so that a
// link shows the same to somebody else.

import { type Row, type Status, statuses } from "../api/types.js";

export const sorts = ["updated", "id", "user", "title", "status", "owner", "position", "tabs", "agents", "queued", "questions", "budget", "errors", "cost"] as const;

export type Sort = (typeof sorts)[number];

export interface View {
  readonly user: string;
  readonly status: Status | "";
  readonly owner: string;
  readonly text: string;
  /** Sessions that do not answer, or have work and say nothing. */
  readonly stuck: boolean;
  readonly questions: boolean;
  readonly errors: boolean;
  /** Sessions that nobody watches. */
  readonly untabbed: boolean;
  readonly sort: Sort;
  readonly descending: boolean;
}

export const plainView: View = {
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

/** Reads an address. What it does not know it leaves out. */
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
    sort: known ? (sort as Sort) : plainView.sort,
    descending: known ? q.get("desc") === "true" : plainView.descending,
  };
}

/** The address of a view, without a question mark; empty for the plain one. */
export function writeView(v: View): string {
  const q = new URLSearchParams();
  for (const name of ["user", "status", "owner", "text"] as const) if (v[name] !== "") q.set(name, v[name]);
  for (const name of ["stuck", "questions", "errors"] as const) if (v[name]) q.set(name, "true");
  if (v.untabbed) q.set("tabs", "0");
  if (v.sort !== plainView.sort || v.descending !== plainView.descending) {
    q.set("sort", v.sort);
    if (v.descending) q.set("desc", "true");
  }
  return q.toString();
}

/** Whether anything is left out. */
export function isNarrow(v: View): boolean {
  return writeView({ ...v, sort: plainView.sort, descending: plainView.descending }) !== "";
}

const halted: ReadonlySet<Status> = new Set(["stuck", "stalled"]);

export function fits(v: View): (row: Row) => boolean {
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

/** What rows are ordered by. */
const keys: Record<Sort, (row: Row) => number | string> = {
  updated: (r) => r.updatedAt,
  id: (r) => r.sessionId,
  user: (r) => r.user,
  title: (r) => r.title ?? "",
  status: (r) => rank.get(r.status) ?? statuses.length,
  owner: (r) => r.owner ?? "",
  position: (r) => placeOf(r.top),
  tabs: (r) => r.tabs,
  agents: (r) => r.agents,
  queued: (r) => r.queued,
  questions: (r) => r.questions,
  budget: (r) => r.budget,
  errors: (r) => r.errors,
  // Models that do not say what they cost still say how much they read and wrote.
  cost: (r) => (r.cost ?? 0) * 1e12 + r.tokens,
};

/** A position in a form whose order is that of positions. */
function placeOf(position: string | undefined): string {
  const [epoch = "", seq = ""] = (position ?? "0-0").split("-");
  return `${epoch.padStart(20, "0")}-${seq.padStart(20, "0")}`;
}

/** The rows of a view in its order; those that are equal stay where they are, by their id. */
export function viewed(rows: Iterable<Row>, v: View): Row[] {
  const wanted = fits(v);
  const key = keys[v.sort];
  const found: { row: Row; key: number | string }[] = [];
  for (const row of rows) if (wanted(row)) found.push({ row, key: key(row) });
  const way = v.descending ? -1 : 1;
  found.sort((a, b) => {
    if (a.key !== b.key) return a.key < b.key ? -way : way;
    return a.row.sessionId < b.row.sessionId ? -1 : 1;
  });
  return found.map((f) => f.row);
}
