import type { ReactNode } from "react";
import type { Row, Status } from "../api/types.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { table as texts } from "../texts.js";

const tones: Record<Status, string> = {
  quarantined: "danger",
  stuck: "danger",
  orphaned: "danger",
  waiting: "info",
  stalled: "warning",
  working: "accent",
  idle: "success",
  dormant: "ink-3",
};

/** The names of the statuses. */
export function useStatusNames(): Record<Status, string> {
  const t = useTexts(texts);
  return {
    quarantined: t.quarantined,
    stuck: t.statusStuck,
    orphaned: t.orphaned,
    waiting: t.statusWaiting,
    stalled: t.stalled,
    working: t.working,
    idle: t.idle,
    dormant: t.dormant,
  };
}

/** The status of a session; of a stuck one, also its command. */
export function StatusMark({ row }: { row: Row }): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  const names = useStatusNames();
  const more = row.doing !== undefined ? t.doing(row.doing, f.age(row.doingMs ?? 0)) : row.reason;
  return (
    <span className={`status status-${tones[row.status]}`} title={more}>
      <i className={`dot dot-${tones[row.status]}`} aria-hidden />
      {names[row.status]}
      {more !== undefined && <small> {more}</small>}
    </span>
  );
}
