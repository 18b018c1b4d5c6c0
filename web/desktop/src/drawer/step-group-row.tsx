import { ListCollapse } from "lucide-react";
import { memo, type ReactNode, useMemo } from "react";
import { kindOfRole, titleIn } from "../dock/agents.js";
import { useFound } from "../history/conversation-state.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useShell } from "../shell/context.js";
import { drawer as texts } from "../texts/drawer.js";
import { toolCalls as toolCallTexts } from "../texts/tool-calls.js";
import { Collapsible } from "./collapsible.js";
import { EntryRow } from "./entry-row.js";
import { type StepGroup, sameStepGroup, summaryOf } from "./step-groups.js";
import { describeActions } from "./tool-actions.js";

interface Props {
  run: StepGroup;
  /** Whether to name the monitors, because rows of several monitors are mixed. */
  named: boolean;
}

/** Several steps of a turn in one line. Failed steps are visible even while the line is collapsed. */
export const StepGroupRow = memo(
  function RunRow({ run, named }: Props): ReactNode {
    const t = useTexts(texts);
    const format = useFormat();
    const found = useFound();
    const toolCalls = useTexts(toolCallTexts);
    const { actions, durationMs: ms, failed } = useMemo(() => summaryOf(run.steps), [run.steps]);
    const done = useShell((s) => describeActions(toolCalls, actions, (window) => titleIn(s.desktop, run.steps[0]!.monitorId, window)));
    const ofTask = kindOfRole(run.steps[0]!.row.agentId ?? "") === "task";
    return (
      <div className={ofTask ? "drawer-run drawer-run-of-task" : "drawer-run"} data-run={run.ts}>
        <Collapsible
          icon={ListCollapse}
          found={found !== undefined && run.steps.some((s) => s.ts === found)}
          title={
            <>
              <b>{t.steps(run.steps.length)}</b>
              {failed.length > 0 && <b className="drawer-danger">{t.stepsFailed(failed.length)}</b>}
              <span>{done}</span>
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
        </Collapsible>
      </div>
    );
  },
  (a, b) => a.named === b.named && sameStepGroup(a.run, b.run),
);
