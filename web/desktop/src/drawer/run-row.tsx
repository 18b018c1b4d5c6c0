import { ListCollapse } from "lucide-react";
import { memo, type ReactNode, useMemo } from "react";
import { kindOfRole } from "../dock/agents.js";
import { useFound } from "../history/reach.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { drawer as texts } from "../texts/parts.js";
import { EntryRow } from "./entry-row.js";
import { Fold } from "./fold.js";
import { type RunEntry, sameRun, summaryOf } from "./runs.js";

interface Props {
  run: RunEntry;
  /** Rows of several monitors are mixed, so each says which it is of. */
  named: boolean;
}

/** Many steps of a turn in one line. What failed is in sight though the line is closed. */
export const RunRow = memo(
  function RunRow({ run, named }: Props): ReactNode {
    const t = useTexts(texts);
    const format = useFormat();
    const found = useFound();
    const { tools, durationMs: ms, failed } = useMemo(() => summaryOf(run.steps), [run.steps]);
    const ofTask = kindOfRole(run.steps[0]!.row.agentId ?? "") === "task";
    return (
      <div className={ofTask ? "drawer-run drawer-run-of-task" : "drawer-run"} data-run={run.ts}>
        <Fold
          icon={ListCollapse}
          found={found !== undefined && run.steps.some((s) => s.ts === found)}
          title={
            <>
              <b>{t.steps(run.steps.length)}</b>
              {failed.length > 0 && <b className="drawer-danger">{t.stepsFailed(failed.length)}</b>}
              <span>{tools}</span>
            </>
          }
          end={ms > 0 && <span className="drawer-time">{ms < 1000 ? `${Math.round(ms)} ms` : format.elapsed(ms)}</span>}
          closed={failed.map((s) => (
            <EntryRow key={s.key} entry={s} named={named} />
          ))}
        >
          {run.steps.map((s) => (
            <EntryRow key={s.key} entry={s} named={named} />
          ))}
        </Fold>
      </div>
    );
  },
  (a, b) => a.named === b.named && sameRun(a.run, b.run),
);
