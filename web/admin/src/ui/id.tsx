import type { ReactNode } from "react";

/** What always stays of the end of an id: ids of one kind often begin alike. */
const end = 6;

/** Ids up to this length are never shortened. */
const short = 16;

/** An id. Where there is no room for all of it, its middle is left out; it is read and copied whole. */
export function Id({ id }: { id: string | undefined }): ReactNode {
  if (id === undefined || id === "") return "–";
  if (id.length <= short) return <span className="mono">{id}</span>;
  return (
    <span className="id mono" title={id}>
      <span className="id-head">{id.slice(0, -end)}</span>
      {id.slice(-end)}
    </span>
  );
}
