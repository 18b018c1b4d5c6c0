import { CircleCheck, CloudOff, DatabaseZap, Link2Off, MonitorX, RefreshCw } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useFormat, useTexts } from "../i18n/use.js";
import { useNow } from "../shell/clock.js";
import { useCommands, useEvents, useShell } from "../shell/context.js";
import { topbar as texts } from "../texts/entry.js";
import { Button } from "../ui/button.js";
import { type Chip, caughtUp, chipOf, goodFor, type StopCause, storeBack } from "./link.js";

/** How the connection is doing. It is a quiet dot while all is well. */
export function LinkChip(): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const commands = useCommands();
  const link = useShell((s) => s.link);
  const online = useShell((s) => s.online);
  const now = useNow(250, link.phase !== "live" && link.phase !== "stopped");
  const chip = chipOf(link, online, now);
  const good = useGood();
  useMoved();

  // All of these are one element for the browser, so that a change of its words is read out.
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
    return (
      <span className="topbar-link topbar-link-storeless" data-link="storeless" role="status" title={`${t.storeless}, ${since}. ${t.storelessHint}`}>
        <DatabaseZap size={14} aria-hidden />
        <span>{t.storeless}</span>
        <span className="topbar-link-safe">{t.storelessHint}</span>
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
        {words(chip, t)}
      </span>
      {/* A countdown that is read out every second helps nobody. */}
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

function words(chip: Chip, t: (typeof texts)["en"]): string {
  if (chip.state === "offline") return t.offline;
  return chip.cause === undefined ? t.reconnecting : t[chip.cause];
}

/** What is well again, for as long as it is worth saying: the store is back, or the connection is and has brought what was missed. */
function useGood(): string {
  const t = useTexts(texts);
  const format = useFormat();
  const conn = useShell((s) => s.link.conn);
  const brought = useShell((s) => caughtUp(s.link));
  const back = useShell((s) => storeBack(s.link));
  const caught = useFresh(brought > 0 ? conn : undefined);
  const stored = useFresh(back);
  if (stored) return t.storeBack;
  return caught ? t.caughtUp(format.number(brought)) : "";
}

/** Whether something has been there for a short time only. */
function useFresh(what: unknown): boolean {
  const [told, tell] = useState<unknown>();
  const fresh = what !== undefined && told !== what;
  useEffect(() => {
    if (!fresh) return;
    const timer = setTimeout(() => tell(what), goodFor);
    return () => clearTimeout(timer);
  }, [fresh, what]);
  return fresh;
}

/** Says when another replica took the session. The first one that is heard of is where it has been all the time. */
function useMoved(): void {
  const t = useTexts(texts);
  const commands = useCommands();
  const owner = useShell((s) => s.desktop.owner);
  const [known, know] = useState(owner);
  if (known === "" && owner !== "") know(owner);
  useEvents((e) => {
    if (e.type !== "OWNER_CHANGED") return;
    if (known !== "" && e.data.replica !== known) commands.notify(t.moved, "info", 5000);
    know(e.data.replica);
  });
}

/** What stands where a monitor was that this tab is for; a message from here would bring it back. */
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

/** Why there is no connection any more, and what to do about it; nothing otherwise. */
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
        <p>{hint(cause, t)}</p>
        {/* Of the other causes the hint says all that there is. */}
        {reason !== "" && (cause === "misused" || cause === "ended") && (
          <p className="topbar-stopped-reason">
            {t.hubSaid(reason)} ({code})
          </p>
        )}
      </div>
      <WayOut cause={cause} />
    </div>
  );
}

function hint(cause: StopCause, t: (typeof texts)["en"]): string {
  return { signIn: t.signInHint, forbidden: t.forbiddenHint, gone: t.goneHint, misused: t.misusedHint, ended: t.endedHint }[cause];
}

function WayOut({ cause }: { cause: StopCause }): ReactNode {
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
