import { type ReactNode, useLayoutEffect, useRef } from "react";
import type { Budget, MonitorStatus } from "../../../core/src/index.js";
import { Thumbnail } from "../canvas/thumbnail.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { monitorNumber, useWindows } from "../shell/select.js";
import { topbar as texts } from "../texts/entry.js";
import type { Activity } from "./monitors.js";

/** The card below a monitor's tab while it is hovered or focused. */
export function TabCard({ monitor, activity, anchor }: { monitor: MonitorStatus; activity: Activity; anchor: HTMLElement }): ReactNode {
  const t = useTexts(texts);
  const windows = useWindows(monitor.monitorId).length;
  const card = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const pop = card.current!;
    if (!pop.matches(":popover-open")) pop.showPopover();
    const at = anchor.getBoundingClientRect();
    pop.style.top = `${at.bottom + 6}px`;
    pop.style.left = `${Math.max(8, Math.min(at.left, innerWidth - pop.offsetWidth - 8))}px`;
  }, [anchor]);
  return (
    <div ref={card} popover="manual" className="topbar-card" role="tooltip">
      <div className="topbar-card-picture">
        <Thumbnail monitor={monitor.monitorId} />
      </div>
      <div className="topbar-card-head">
        <strong>{t.monitor(monitorNumber(monitor.monitorId))}</strong>
        <span>{t.windows(windows)}</span>
      </div>
      <div className="topbar-card-state" data-activity={activity}>
        <span className="topbar-activity" aria-hidden />
        {t[activity]}
      </div>
      {monitor.queue > 0 && <div className="topbar-card-line">{t.queue(monitor.queue)}</div>}
      {monitor.budget !== undefined && <BudgetLines budget={monitor.budget} />}
    </div>
  );
}

function BudgetLines({ budget: b }: { budget: Budget }): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  const rows: [NonNullable<Budget["denied"]>, string, number, number][] = [
    ["actions", t.budgetActions, b.actions, b.actionsLimit],
    ["output", t.budgetOutput, b.output, b.outputLimit],
    ["slots", t.budgetRunning, b.running, b.runningLimit],
  ];
  return (
    <div className="topbar-card-budget">
      {rows.map(([kind, name, used, limit]) => (
        <div key={kind} className="topbar-card-line" data-denied={b.denied === kind}>
          <span>{name}</span>
          <span>{t.usedOf(f.number(used), f.number(limit))}</span>
        </div>
      ))}
      {b.denied !== undefined && b.until !== undefined && <div className="topbar-card-line">{t.budgetUntil(f.time(b.until))}</div>}
    </div>
  );
}
