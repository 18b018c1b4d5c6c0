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

/** The monitors of the session. A tab that is pinned to one shows only its name. */
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
  const [looked, look] = useLook();
  const [closing, close] = useState<MonitorID>();
  const base = useId();
  const ids = useMemo(() => monitors.map((m) => m.monitorId), [monitors]);
  const tabId = (id: MonitorID): string => `${base}-${id}`;
  const full = monitors.length >= limits.monitors;
  const seen = monitors.find((m) => m.monitorId === looked?.monitor);

  return (
    <div className="topbar-tabs" data-many={monitors.length > 2}>
      {/* The menus stand between the tabs but are not of the list, so it says which are. */}
      <div role="tablist" aria-label={t.monitors} aria-owns={ids.map(tabId).join(" ")} />
      {monitors.map((m) => (
        <div key={m.monitorId} className="topbar-tab-box" data-selected={m.monitorId === shown}>
          <Tab
            id={tabId(m.monitorId)}
            monitor={m}
            activity={activityOf(m, working)}
            selected={m.monitorId === shown}
            onLook={look}
            onKey={(key) => {
              const to = tabAfter(ids, m.monitorId, key);
              if (to === undefined) return false;
              commands.showMonitor(to);
              document.getElementById(tabId(to))?.focus();
              return true;
            }}
          />
          <TabMenu monitor={m.monitorId} working={working.has(m.monitorId)} onOpen={() => look(undefined)} onClose={() => close(m.monitorId)} />
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
        {seen !== undefined && looked !== undefined && <TabCard monitor={seen} activity={activityOf(seen, working)} anchor={looked.anchor} />}
      </Suspense>
      {closing !== undefined && <CloseMonitor monitor={closing} working={working.has(closing)} onDone={() => close(undefined)} />}
    </div>
  );
}

type Look = { monitor: MonitorID; anchor: HTMLElement } | undefined;

/** Which tab is looked at: after a moment, and at once from one to the next. */
function useLook(): [Look, (look: Look) => void] {
  const [look, setLook] = useState<Look>();
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (next: Look): void => {
    clearTimeout(timer.current);
    if (next === undefined || look !== undefined) setLook(next);
    else timer.current = window.setTimeout(() => setLook(next), 350);
  };
  return [look, change];
}

interface TabProps {
  id: string;
  monitor: MonitorStatus;
  activity: Activity;
  selected: boolean;
  onLook: (look: Look) => void;
  /** Does what a key does in a row of tabs; gives whether it did something. */
  onKey: (key: string) => boolean;
}

function Tab({ id, monitor, activity, selected, onLook, onKey }: TabProps): ReactNode {
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
        onLook(undefined);
        commands.showMonitor(monitorId);
      }}
      onPointerEnter={(e) => e.pointerType === "mouse" && onLook({ monitor: monitorId, anchor: e.currentTarget })}
      onPointerLeave={() => onLook(undefined)}
      onFocus={(e) => e.currentTarget.matches(":focus-visible") && onLook({ monitor: monitorId, anchor: e.currentTarget })}
      onBlur={() => onLook(undefined)}
      onKeyDown={(e) => {
        if (e.key === "Escape") onLook(undefined);
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

/** Asks before a monitor goes with what is on it. */
function CloseMonitor({ monitor, working, onDone }: { monitor: MonitorID; working: boolean; onDone: () => void }): ReactNode {
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
