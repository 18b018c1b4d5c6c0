import type { ReactNode } from "react";
import { firstMonitor, hasEnded, type MonitorID, type Sent } from "../../../core/src/index.js";
import { useFateText } from "../drawer/fate.js";
import { useReason } from "../drawer/reasons.js";
import { useShell } from "../shell/context.js";

/**
 * What becomes of the newest message to a monitor, for as long as the conversation does not say it: it is closed, or what
 * an agent says below the message has pushed it out of sight.
 */
export function LastFate({ monitor }: { monitor: MonitorID }): ReactNode {
  const open = useShell((s) => s.view.drawer);
  const pushed = useShell((s) => [...s.desk.agents.values()].some((a) => a.monitorId === monitor && a.text !== ""));
  const last = useShell((s) => s.outbox.items.findLast((i) => i.type === "USER_MESSAGE" && monitorOf(i) === monitor));
  if ((open && !pushed) || last === undefined || (hasEnded(last) && last.fate !== "rejected" && last.fate !== "failed")) return null;
  return <Fate sent={last} />;
}

function Fate({ sent }: { sent: Sent }): ReactNode {
  const text = useFateText(sent.fate, sent.position);
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
