import { FoldVertical, LoaderCircle } from "lucide-react";
import { type ReactNode, useContext, useId } from "react";
import type { MonitorID } from "../../../core/src/index.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { PageContext, useCommands, useEvents, useShell } from "../shell/context.js";
import { history as texts } from "../texts/parts.js";
import { Ring } from "../ui/ring.js";
import { meterOf, type NotNow, shortTokens, whyNotNow } from "./meter.js";
import { useHistoryReason } from "./reasons.js";

/** How full the memory of the monitor's agent is, and the button that makes room in it. */
export function ContextMeter({ monitor }: { monitor: MonitorID }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const meter = meterOf(useShell((s) => s.desktop.monitors.get(monitor)?.context));
  useRefusals();
  if (meter === undefined) return <Condense monitor={monitor} />;
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
            <span>{state === "unknown" ? shortTokens(tokens) : `${shortTokens(tokens)} / ${shortTokens(window)} · ${percent} %`}</span>
          </>
        )}
        <span className="hidden-text">{tip}</span>
      </span>
      <Condense monitor={monitor} />
    </>
  );
}

function Condense({ monitor }: { monitor: MonitorID }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const tip = useId();
  const why = useShell((s) =>
    whyNotNow(monitor, {
      live: s.link.phase === "live",
      status: s.desktop.monitors.get(monitor),
      agents: s.desktop.agents,
      asked: s.outbox.items.some((i) => i.type === "CONDENSE" && i.status === "sending"),
    }),
  );
  const reasons: Record<NotNow, string> = { offline: t.notOffline, condensing: t.condensing, busy: t.notBusy, empty: t.notEmpty };
  const says = why === undefined ? t.condenseTip : reasons[why];
  // Nothing to sum up needs no button that says so.
  if (why === "empty") return null;
  return (
    <>
      <button
        type="button"
        className="history-condense"
        aria-disabled={why !== undefined}
        aria-describedby={tip}
        title={says}
        onClick={() => {
          if (why === undefined) commands.condense(monitor);
        }}
      >
        <FoldVertical size={14} aria-hidden />
        {t.condense}
      </button>
      <span id={tip} hidden>
        {says}
      </span>
    </>
  );
}

/** Says why the hub did not sum up, though it could be asked to. */
function useRefusals(): void {
  const t = useTexts(texts);
  const commands = useCommands();
  const why = useHistoryReason();
  const page = useContext(PageContext);
  useEvents((e, replayed) => {
    if (replayed || e.type !== "MESSAGE_REJECTED") return;
    if (page?.client.state.outbox.items.some((i) => i.id === e.data.messageId && i.type === "CONDENSE")) commands.notify(t.notCondensed(why(e.data.reason)), "warning", 6000);
  });
}
