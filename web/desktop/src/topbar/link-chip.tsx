import { CircleCheck, CloudOff, DatabaseZap, Link2Off, MonitorX, RefreshCw } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { isStoreFull } from "../../../core/src/index.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useNow } from "../shell/clock.js";
import { useCommands, useEvents, useShell } from "../shell/context.js";
import { topbar as texts } from "../texts/entry.js";
import { Button } from "../ui/button.js";
import { type Chip, caughtUp, chipOf, recoveryNoteTime, type StopCause, storeBack } from "./link.js";

/** The state of the connection; only a dot while everything works. */
export function LinkChip(): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const commands = useCommands();
  const link = useShell((s) => s.link);
  const online = useShell((s) => s.online);
  const now = useNow(250, link.phase !== "live" && link.phase !== "stopped");
  const chip = chipOf(link, online, now);
  const good = useRecoveryNote();
  useOwnerChangeNotice();

  // The variants share one element in the browser, so that screen readers announce a changed text.
  if (chip.state === "live" && good !== "") {
    return (
      <span className="topbar-link topbar-link-good" data-link="live" role="status">
        <CircleCheck size={14} aria-hidden />
        {good}
      </span>
    );
  }
  if (chip.state === "storeless") {
    const since = t.since(format.time(link.store?.since ?? now));
    const [what, hint] = isStoreFull(link) ? [t.storeFull, t.storeFullHint] : [t.storeless, t.storelessHint];
    return (
      <span className="topbar-link topbar-link-storeless" data-link="storeless" role="status" title={`${what}, ${since}. ${hint}`}>
        <DatabaseZap size={14} aria-hidden />
        <span>{what}</span>
        <span className="topbar-link-safe">{hint}</span>
      </span>
    );
  }
  if (chip.quiet || chip.state === "connecting") {
    const label = chip.state === "live" ? t.live : t.connecting;
    return (
      <span className={`topbar-link topbar-link-quiet topbar-link-${chip.state}`} data-link={chip.state} role="status" title={label}>
        <span className="topbar-dot" aria-hidden />
        <span className={chip.quiet ? "hidden-text" : ""}>{label}</span>
      </span>
    );
  }
  return (
    <span className={`topbar-link topbar-link-${chip.state}`} data-link={chip.state}>
      <ChipIcon state={chip.state} />
      <span role="status">
        {chipText(chip, t)}
      </span>
      {/* The countdown is outside of the status: announcing it every second would be useless. */}
      {chip.state !== "stopped" && <span className="topbar-link-next">{chip.retryIn > 0 ? t.tryIn(chip.retryIn) : t.trying}</span>}
      {chip.state !== "stopped" && (
        <button type="button" className="topbar-link-do" onClick={() => commands.retryLink()}>
          {t.retry}
        </button>
      )}
    </span>
  );
}

function ChipIcon({ state }: { state: Chip["state"] }): ReactNode {
  if (state === "offline") return <CloudOff size={14} aria-hidden />;
  if (state === "stopped") return <Link2Off size={14} aria-hidden />;
  return <RefreshCw size={14} aria-hidden className="topbar-turning" />;
}

function chipText(chip: Chip, t: (typeof texts)["en"]): string {
  if (chip.state === "offline") return t.offline;
  return chip.cause === undefined ? t.reconnecting : t[chip.cause];
}

/**
 * A note that is shown for a moment after a recovery: the store is available again, or a resumed connection has
 * delivered the missed events.
 */
function useRecoveryNote(): string {
  const t = useTexts(texts);
  const format = useFormat();
  const conn = useShell((s) => s.link.conn);
  const missed = useShell((s) => caughtUp(s.link));
  const back = useShell((s) => storeBack(s.link));
  const caughtUpRecently = useRecently(missed > 0 ? conn : undefined);
  const storeRecently = useRecently(back);
  if (storeRecently) return t.storeBack;
  return caughtUpRecently ? t.caughtUp(format.number(missed)) : "";
}

/** Whether a value was set a short time ago. */
function useRecently(what: unknown): boolean {
  const [expired, setExpired] = useState<unknown>();
  const fresh = what !== undefined && expired !== what;
  useEffect(() => {
    if (!fresh) return;
    const timer = setTimeout(() => setExpired(what), recoveryNoteTime);
    return () => clearTimeout(timer);
  }, [fresh, what]);
  return fresh;
}

/** Shows a notice when another replica takes over the session. The first known owner causes none. */
function useOwnerChangeNotice(): void {
  const t = useTexts(texts);
  const commands = useCommands();
  const owner = useShell((s) => s.desktop.owner);
  const [known, setKnown] = useState(owner);
  if (known === "" && owner !== "") setKnown(owner);
  useEvents((e) => {
    if (e.type !== "OWNER_CHANGED") return;
    if (known !== "" && e.data.replica !== known) commands.notify(t.moved, "info", 5000);
    setKnown(e.data.replica);
  });
}

/**
 * Replaces the canvas of a pinned tab whose monitor was removed. A message from here would create the monitor again.
 */
export function MonitorGone(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  return (
    <div className="topbar-gone" role="alert">
      <MonitorX size={24} aria-hidden />
      <h1>{t.monitorGone}</h1>
      <p>{t.monitorGoneHint}</p>
      <a className="button button-primary button-md" href={commands.addressOf()}>
        {t.wholeSession}
      </a>
    </div>
  );
}

/** Explains why the connection stays closed, and offers an action. */
export function StoppedCard(): ReactNode {
  const t = useTexts(texts);
  const stopped = useShell((s) => s.link.phase === "stopped");
  const code = useShell((s) => s.link.code);
  const reason = useShell((s) => s.link.reason);
  const online = useShell((s) => s.online);
  const link = useShell((s) => s.link);
  if (!stopped) return null;
  const cause = chipOf(link, online, 0).cause ?? "ended";
  return (
    <div className="topbar-stopped" role="alert">
      <Link2Off size={20} aria-hidden />
      <div>
        <strong>{t[cause]}</strong>
        <p>{stopHint(cause, t)}</p>
        {/* For the other causes the hint is sufficient. */}
        {reason !== "" && (cause === "misused" || cause === "ended") && (
          <p className="topbar-stopped-reason">
            {t.hubSaid(reason)} ({code})
          </p>
        )}
      </div>
      <StopAction cause={cause} />
    </div>
  );
}

function stopHint(cause: StopCause, t: (typeof texts)["en"]): string {
  return { signIn: t.signInHint, forbidden: t.forbiddenHint, gone: t.goneHint, misused: t.misusedHint, ended: t.endedHint }[cause];
}

function StopAction({ cause }: { cause: StopCause }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  switch (cause) {
    case "signIn":
      return (
        <a className="button button-primary button-md" href="/login">
          {t.signInDo}
        </a>
      );
    case "forbidden":
    case "gone":
      return (
        <Button kind="primary" onClick={() => commands.openPanel("sessions")}>
          {t.sessionsDo}
        </Button>
      );
    case "misused":
      return (
        <Button kind="primary" onClick={() => location.reload()}>
          {t.reloadDo}
        </Button>
      );
    case "ended":
      return (
        <Button kind="primary" onClick={() => commands.retryLink()}>
          {t.retry}
        </Button>
      );
  }
}
