import { CircleHelp, ListTodo, ShieldQuestion } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { firstMonitor, type MonitorID } from "../../../core/src/index.js";
import { consequenceOf, messageOf, titleOf } from "../asks/facts.js";
import { type Ask, asksOf } from "../asks/order.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { asks as askTexts } from "../texts/asks.js";
import { drawer as texts } from "../texts/drawer.js";
import { Button } from "../ui/button.js";

/** The open questions. They are answered in the top layer, which no window can imitate. */
export function AskCards({ monitor }: { monitor: MonitorID | undefined }): ReactNode {
  const t = useTexts(texts);
  const asksTexts = useTexts(askTexts);
  const commands = useCommands();
  const dialogs = useShell((s) => s.desktop.dialogs);
  const prompts = useShell((s) => s.desktop.prompts);
  const requests = useShell((s) => s.desktop.requests);
  const open = useMemo(() => asksOf({ dialogs, prompts, requests }).filter((a) => belongsTo(a, monitor)), [dialogs, prompts, requests, monitor]);
  return open.map((ask) => {
    const Icon = icons[ask.kind];
    return (
      <div key={ask.key} className="drawer-ask" data-ask-card={ask.id}>
        <Icon size={16} aria-hidden />
        <span className="drawer-ask-text">
          <b>{t.asks(titleOf(ask, asksTexts))}</b>
          <span>{consequenceOf(ask, asksTexts)?.effect ?? messageOf(ask)}</span>
        </span>
        <Button size="sm" kind="primary" onClick={() => (ask.kind === "plan" ? commands.showAsk(ask.key) : commands.openPanel("inbox"))}>
          {t.answer}
        </Button>
      </div>
    );
  });
}

const icons = { approval: ShieldQuestion, prompt: CircleHelp, plan: ListTodo };

/**
 * Whether a question belongs to a conversation. Plans belong to no monitor, so their questions appear in all
 * conversations.
 */
function belongsTo(ask: Ask, monitor: MonitorID | undefined): boolean {
  return monitor === undefined || ask.kind === "plan" || (ask.request.monitorId || firstMonitor) === monitor;
}
