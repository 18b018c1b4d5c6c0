import { EllipsisVertical, ExternalLink, Pin, Plus, Square, X } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useId, useMemo, useRef, useState } from "react";
import { firstMonitor, limits, type MonitorID, type MonitorStatus } from "../../../core/src/index.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { monitorNumber, useMonitor, useMonitorGone, useMonitors, useWindows } from "../shell/select.js";
import { topbar as texts } from "../texts/entry.js";
import { Button, IconButton } from "../ui/button.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { Modal } from "../ui/modal.js";
import { Ring } from "../ui/ring.js";
import { type Activity, activityOf, budgetPart, budgetTone, tabAfter, workingMonitors } from "./monitors.js";

const TabCard = lazy(async () => ({ default: (await import("./tab-card.js")).TabCard }));

/** The tabs of the monitors. A pinned browser tab shows only the name of its monitor. */
export function MonitorTabs(): ReactNode {
  const pinned = useShell((s) => s.view.pinned);
  const gone = useMonitorGone();
  if (gone) return null;
  return pinned ? <PinnedMonitor /> : <AllMonitors />;
}

function PinnedMonitor(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const monitor = useMonitor();
  return (
    <div className="topbar-pinned">
      <strong>{t.monitor(monitorNumber(monitor))}</strong>
      <span className="topbar-badge" title={t.pinnedHint}>
        <Pin size={12} aria-hidden />
        {t.pinned}
      </span>
      <a href={commands.addressOf()}>{t.wholeSession}</a>
    </div>
  );
}

function AllMonitors(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const monitors = useMonitors();
  const shown = useMonitor();
  const agents = useShell((s) => s.desktop.agents);
  const working = useMemo(() => workingMonitors(agents.values()), [agents]);
  const [hovered, setHovered] = useHoveredTab();
  const [closing, setClosing] = useState<MonitorID>();
  const base = useId();
  const ids = useMemo(() => monitors.map((m) => m.monitorId), [monitors]);
  const tabId = (id: MonitorID): string => `${base}-${id}`;
  const full = monitors.length >= limits.monitors;
  const hoveredMonitor = monitors.find((m) => m.monitorId === hovered?.monitor);

  return (
    <div className="topbar-tabs" data-many={monitors.length > 2}>
      {/* The menus are between the tabs but not part of the tab list, so aria-owns names its tabs. */}
      <div role="tablist" aria-label={t.monitors} aria-owns={ids.map(tabId).join(" ")} />
      {monitors.map((m) => (
        <div key={m.monitorId} className="topbar-tab-box" data-selected={m.monitorId === shown}>
          <Tab
            id={tabId(m.monitorId)}
            monitor={m}
            activity={activityOf(m, working)}
            selected={m.monitorId === shown}
            onHover={setHovered}
            onKey={(key) => {
              const to = tabAfter(ids, m.monitorId, key);
              if (to === undefined) return false;
              commands.showMonitor(to);
              document.getElementById(tabId(to))?.focus();
              return true;
            }}
          />
          <TabMenu monitor={m.monitorId} working={working.has(m.monitorId)} onOpen={() => setHovered(undefined)} onClose={() => setClosing(m.monitorId)} />
        </div>
      ))}
      <IconButton
        icon={Plus}
        label={full ? t.addFull : t.add}
        aria-disabled={full}
        className="topbar-add"
        onClick={() => (full ? commands.notify(t.addFull) : commands.addMonitor(limits.monitors))}
      />
      <Suspense>
        {hoveredMonitor !== undefined && hovered !== undefined && <TabCard monitor={hoveredMonitor} activity={activityOf(hoveredMonitor, working)} anchor={hovered.anchor} />}
      </Suspense>
      {closing !== undefined && <CloseMonitorDialog monitor={closing} working={working.has(closing)} onDone={() => setClosing(undefined)} />}
    </div>
  );
}

type HoveredTab = { monitor: MonitorID; anchor: HTMLElement } | undefined;

/** The hovered tab: set after a delay, and at once when moving from one tab to the next. */
function useHoveredTab(): [HoveredTab, (tab: HoveredTab) => void] {
  const [hovered, setHovered] = useState<HoveredTab>();
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const hover = (next: HoveredTab): void => {
    clearTimeout(timer.current);
    if (next === undefined || hovered !== undefined) setHovered(next);
    else timer.current = window.setTimeout(() => setHovered(next), 350);
  };
  return [hovered, hover];
}

interface TabProps {
  id: string;
  monitor: MonitorStatus;
  activity: Activity;
  selected: boolean;
  onHover: (tab: HoveredTab) => void;
  /** Handles a navigation key; returns whether it did. */
  onKey: (key: string) => boolean;
}

function Tab({ id, monitor, activity, selected, onHover, onKey }: TabProps): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const commands = useCommands();
  const { monitorId, queue, budget } = monitor;
  const n = monitorNumber(monitorId);
  const percent = budget === undefined ? 0 : Math.round(budgetPart(budget) * 100);
  const used = percent > 0 ? t.budget(percent) : "";
  const label = [t.monitor(n), activity === "idle" ? "" : t[activity], queue > 0 ? t.queue(queue) : "", used].filter((s) => s !== "").join(", ");
  return (
    <button
      id={id}
      type="button"
      role="tab"
      aria-selected={selected}
      aria-label={label}
      tabIndex={selected ? 0 : -1}
      data-monitor-id={monitorId}
      data-activity={activity}
      className="topbar-tab"
      onClick={() => {
        onHover(undefined);
        commands.showMonitor(monitorId);
      }}
      onPointerEnter={(e) => e.pointerType === "mouse" && onHover({ monitor: monitorId, anchor: e.currentTarget })}
      onPointerLeave={() => onHover(undefined)}
      onFocus={(e) => e.currentTarget.matches(":focus-visible") && onHover({ monitor: monitorId, anchor: e.currentTarget })}
      onBlur={() => onHover(undefined)}
      onKeyDown={(e) => {
        if (e.key === "Escape") onHover(undefined);
        if (onKey(e.key)) e.preventDefault();
      }}
    >
      <span className="topbar-activity" aria-hidden />
      <span className="topbar-tab-long">{t.monitor(n)}</span>
      <span className="topbar-tab-short">{n}</span>
      {queue > 0 && <span className="topbar-queue" data-count={format.number(queue)} />}
      {budget !== undefined && percent > 0 && <Ring part={budgetPart(budget)} tone={budgetTone(budget)} size={14} label={used} />}
    </button>
  );
}

function TabMenu(p: { monitor: MonitorID; working: boolean; onOpen: () => void; onClose: () => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const windows = useWindows(p.monitor);
  const n = monitorNumber(p.monitor);
  return (
    <Menu
      label={t.monitorMenu(n)}
      trigger={(menu) => (
        <IconButton
          icon={EllipsisVertical}
          size={14}
          label={t.monitorMenu(n)}
          className="topbar-tab-menu"
          {...menu}
          onClick={() => {
            p.onOpen();
            menu.onClick();
          }}
        />
      )}
    >
      {(close) => (
        <>
          <MenuItem
            icon={<ExternalLink size={14} aria-hidden />}
            onSelect={() => {
              close();
              commands.detachMonitor(p.monitor);
            }}
          >
            {t.detach}
          </MenuItem>
          {p.working && (
            <MenuItem
              icon={<Square size={14} aria-hidden />}
              onSelect={() => {
                close();
                commands.stopMonitor(p.monitor);
              }}
            >
              {t.stopAgents}
            </MenuItem>
          )}
          {p.monitor !== firstMonitor && (
            <MenuItem
              danger
              icon={<X size={14} aria-hidden />}
              onSelect={() => {
                close();
                if (windows.length > 0 || p.working) p.onClose();
                else commands.removeMonitor(p.monitor);
              }}
            >
              {t.close}
            </MenuItem>
          )}
        </>
      )}
    </Menu>
  );
}

/** Confirms the removal of a monitor with its windows and agents. */
function CloseMonitorDialog({ monitor, working, onDone }: { monitor: MonitorID; working: boolean; onDone: () => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const windows = useWindows(monitor).length;
  return (
    <Modal title={t.closeTitle(monitorNumber(monitor))} closeLabel={t.keep} onClose={onDone}>
      {windows > 0 && <p>{t.closeWindows(windows)}</p>}
      {working && <p>{t.closeAgents}</p>}
      <div className="topbar-confirm">
        <Button onClick={onDone}>{t.keep}</Button>
        <Button
          kind="danger"
          onClick={() => {
            commands.removeMonitor(monitor);
            onDone();
          }}
        >
          {t.close}
        </Button>
      </div>
    </Modal>
  );
}
