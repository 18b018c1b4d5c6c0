import type { ReactNode } from "react";

/** The length of the end of an id that is always shown: ids of one kind often start alike. */
const endLength = 6;

/** The length up to which ids are never shortened. */
const maxFullLength = 16;

/** An id. Without enough room, its middle is hidden; screen readers and copying get all of it. */
export function Id({ id }: { id: string | undefined }): ReactNode {
  if (id === undefined || id === "") return "–";
  if (id.length <= maxFullLength) return <span className="mono">{id}</span>;
  return (
    <span className="id mono" title={id}>
      <span className="id-head">{id.slice(0, -endLength)}</span>
      {id.slice(-endLength)}
    </span>
  );
}
