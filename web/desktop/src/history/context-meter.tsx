import { FoldVertical, LoaderCircle } from "lucide-react";
import { type ReactNode, useContext, useId } from "react";
import type { MonitorID } from "../../../core/src/index.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { PageContext, useCommands, useEvents, useShell } from "../shell/context.js";
import { history as texts } from "../texts/history.js";
import { Ring } from "../ui/ring.js";
import { type CondenseBlocker, condenseBlocker, meterOf, shortTokens } from "./meter.js";
import { useHistoryReason } from "./reasons.js";

/** The context use of the monitor's main agent, and the button that condenses it. */
export function ContextMeter({ monitor }: { monitor: MonitorID }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const meter = meterOf(useShell((s) => s.desktop.monitors.get(monitor)?.context));
  useRejectionNotices();
  if (meter === undefined) return <CondenseButton monitor={monitor} />;
  const { tokens, window, percent, part, state } = meter;
  const label = state === "unknown" ? t.meterTokens(format.number(tokens)) : t.meter(percent);
  const tip = state === "unknown" ? label : [t.meterTip(format.number(tokens), format.number(window)), ...(state === "near" || state === "over" ? [t[state]] : [])].join(", ");
  return (
    <>
      <span className={`history-meter history-meter-${state}`} data-meter={state} title={tip}>
        {meter.condensing ? (
          <>
            <LoaderCircle size={14} aria-hidden className="drawer-turning" />
            <span role="status">{t.condensing}</span>
          </>
        ) : (
          <>
            {state !== "unknown" && <Ring part={part} size={16} label={label} tone={({ calm: "accent", near: "warning", over: "danger" } as const)[state]} />}
            <span>{state === "unknown" ? shortTokens(tokens) : t.meterShort(percent)}</span>
          </>
        )}
        <span className="hidden-text">{tip}</span>
      </span>
      <CondenseButton monitor={monitor} />
    </>
  );
}

function CondenseButton({ monitor }: { monitor: MonitorID }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const tip = useId();
  const why = useShell((s) =>
    condenseBlocker(monitor, {
      live: s.link.phase === "live",
      status: s.desktop.monitors.get(monitor),
      agents: s.desktop.agents,
      asked: s.outbox.items.some((i) => i.type === "CONDENSE" && i.status === "sending"),
    }),
  );
  const reasons: Record<CondenseBlocker, string> = { offline: t.notOffline, condensing: t.condensing, busy: t.notBusy, empty: t.notEmpty };
  const hint = why === undefined ? t.condenseTip : reasons[why];
  // If there is nothing to condense, there is no button.
  if (why === "empty") return null;
  return (
    <>
      <button
        type="button"
        className="history-condense"
        aria-disabled={why !== undefined}
        aria-describedby={tip}
        title={hint}
        onClick={() => {
          if (why === undefined) commands.condense(monitor);
        }}
      >
        <FoldVertical size={14} aria-hidden />
        {t.condense}
      </button>
      <span id={tip} hidden>
        {hint}
      </span>
    </>
  );
}

/** Shows a notice with the reason when the hub rejects a request to condense. */
function useRejectionNotices(): void {
  const t = useTexts(texts);
  const commands = useCommands();
  const why = useHistoryReason();
  const page = useContext(PageContext);
  useEvents((e, replayed) => {
    if (replayed || e.type !== "MESSAGE_REJECTED") return;
    if (page?.client.state.outbox.items.some((i) => i.id === e.data.messageId && i.type === "CONDENSE")) commands.notify(t.notCondensed(why(e.data.reason, e.data.reasonCode)), "warning", 6000);
  });
}
