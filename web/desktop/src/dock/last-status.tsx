import type { ReactNode } from "react";
import { firstMonitor, hasEnded, type MonitorID, type Sent } from "../../../core/src/index.js";
import { useStatusText } from "../drawer/message-status.js";
import { useReason } from "../drawer/reasons.js";
import { useShell } from "../shell/context.js";

/**
 * The status of the newest message to a monitor, while the conversation does not show it: it is closed, or the output
 * of an agent below the message has scrolled it out of view.
 */
export function LastStatus({ monitor }: { monitor: MonitorID }): ReactNode {
  const open = useShell((s) => s.view.drawer);
  const pushed = useShell((s) => [...s.desktop.agents.values()].some((a) => a.monitorId === monitor && a.text !== ""));
  const last = useShell((s) => s.outbox.items.findLast((i) => i.type === "USER_MESSAGE" && monitorOf(i) === monitor));
  if ((open && !pushed) || last === undefined || (hasEnded(last) && last.status !== "rejected" && last.status !== "failed")) return null;
  return <StatusText sent={last} />;
}

function StatusText({ sent }: { sent: Sent }): ReactNode {
  const text = useStatusText(sent.status, sent.position);
  const inWords = useReason();
  return (
    <>
      {text}
      {sent.reason ? `: ${inWords(sent.reason)}` : ""}
    </>
  );
}

function monitorOf(s: Sent): MonitorID {
  return ("monitorId" in s.data ? s.data.monitorId : undefined) || firstMonitor;
}
