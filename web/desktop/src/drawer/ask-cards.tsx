import { CircleHelp, ShieldQuestion } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { firstMonitor, type MonitorID } from "../../../core/src/index.js";
import { titleOf } from "../asks/origin.js";
import askWords from "../asks/words.js";
import { useWords } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { Button } from "../ui/button.js";
import texts from "./words.js";

/** The questions that wait. They are answered in the top layer, which no window can imitate. */
export function AskCards({ monitor }: { monitor: MonitorID | undefined }): ReactNode {
  const t = useWords(texts);
  const asksTexts = useWords(askWords);
  const commands = useCommands();
  const dialogs = useShell((s) => s.desk.dialogs);
  const prompts = useShell((s) => s.desk.prompts);
  const open = useMemo(() => {
    const here = (id: MonitorID | undefined): boolean => monitor === undefined || (id || firstMonitor) === monitor;
    const approvals = [...dialogs.values()].filter((d) => here(d.monitorId));
    const questions = [...prompts.values()].filter((p) => here(p.monitorId));
    return [
      ...approvals.map((d) => ({ id: `d${d.dialogId}`, approval: true, title: d.title, message: d.message })),
      ...questions.map((p) => ({ id: `p${p.id}`, approval: false, title: p.title, message: p.message })),
    ];
  }, [dialogs, prompts, monitor]);
  return open.map((q) => (
    <div key={q.id} className="drawer-ask">
      {q.approval ? <ShieldQuestion size={16} aria-hidden /> : <CircleHelp size={16} aria-hidden />}
      <span className="drawer-ask-text">
        <b>{t.asks(titleOf(q, asksTexts.permission))}</b>
        <span>{q.message}</span>
      </span>
      <Button size="sm" kind="primary" onClick={() => commands.open("inbox")}>
        {t.answer}
      </Button>
    </div>
  ));
}
