import { ArrowLeft } from "lucide-react";
import { type ReactNode, useEffect, useId, useState } from "react";
import { Button } from "../../../desktop/src/ui/button.js";
import { adminActions } from "../actions/action.js";
import { ActionButton } from "../actions/button.js";
import type { Detail } from "../api/types.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useHubTime, usePage } from "../state/use.js";
import { StatusMark } from "../table/status.js";
import { session as texts } from "../texts.js";
import { PageLink } from "../top.js";
import { CopyButton } from "../ui/copy.js";
import { Id } from "../ui/id.js";
import { Agents, Ledger, Monitors, Owners, Questions, Tabs, Windows } from "./parts.js";
import { Tail } from "./tail.js";

/** The details of one session. */
export function SessionPage({ session }: { session: string }): ReactNode {
  const t = useTexts(texts);
  const detail = usePage((s) => s.detail);
  const gone = usePage((s) => s.deletedSession === session);
  const now = useHubTime();
  return (
    <div className="session" data-session-page={session}>
      <PageLink className="session-back" to={{ page: "sessions", query: "" }}>
        <ArrowLeft size={14} aria-hidden />
        {t.back}
      </PageLink>
      {gone || detail === undefined ? (
        <Missing session={session} gone={gone} />
      ) : (
        <>
          <Head detail={detail} now={now} />
          <div className="session-parts">
            <Monitors detail={detail} now={now} />
            <Agents detail={detail} now={now} />
            <Questions detail={detail} now={now} />
            <Tabs detail={detail} now={now} />
            <Owners detail={detail} />
            <Windows detail={detail} />
            <Ledger detail={detail} />
          </div>
          <Tail detail={detail} />
        </>
      )}
    </div>
  );
}

/** How long to wait for the details before the page says that none are available, in ms. */
const loadTimeout = 4000;

function Missing({ session, gone }: { session: string; gone: boolean }): ReactNode {
  const t = useTexts(texts);
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), loadTimeout);
    return () => clearTimeout(timer);
  }, []);
  return (
    <>
      <h1 className="mono">{session}</h1>
      <p role="status">{gone ? t.gone : late ? t.missing : t.loading}</p>
    </>
  );
}

function Head({ detail, now }: { detail: Detail; now: number }): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  const { row } = detail;
  const replicas = usePage((s) => s.overview?.replicas);
  const content = usePage((s) => s.me?.content === true);
  const others = (replicas ?? []).filter((r) => r.id !== row.owner && r.state === "serving").map((r) => r.id);
  const facts: [string, ReactNode][] = [
    [t.user, row.user],
    [t.owner, <Id key="owner" id={row.owner} />],
    [t.epoch, row.epoch],
    [t.position, <span key="top" className="mono">{row.top ?? "–"}</span>],
    [t.created, f.moment(row.createdAt)],
    [t.lastEvent, t.ago(f.age(now - row.updatedAt))],
    [t.tokens, f.short(row.tokens)],
    [t.cost, row.cost === undefined ? "–" : f.usd(row.cost)],
  ];
  return (
    <header className="session-head">
      <div className="session-name">
        <h1>
          {content && row.title !== undefined && row.title !== "" && <>{row.title} </>}
          <span className="mono">{row.sessionId}</span>
        </h1>
        <StatusMark row={row} />
        <CopyButton text={() => row.sessionId} label={t.copyId} done={t.copied} failed={t.copyFailed} />
      </div>
      {row.doing !== undefined && (
        <p className="session-alarm" role="alert">
          {t.doing(row.doing, f.age(row.doingMs ?? 0))}
        </p>
      )}
      {row.reason !== undefined && row.reason !== "" && <p className="session-alarm">{t.aside(row.reason)}</p>}
      {!detail.known && <p className="note">{t.unknown}</p>}
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <div className="session-actions" role="group" aria-label={t.actions}>
        <FilmLink session={row.sessionId} content={content} />
        <ActionButton action={adminActions.interruptSession(row.sessionId)}>{t.interrupt}</ActionButton>
        <ActionButton action={adminActions.handOver(row.sessionId, others)} {...(others.length === 0 ? { refused: t.nobodyElse } : {})}>
          {t.handOver}
        </ActionButton>
        {row.status === "quarantined" && <ActionButton action={adminActions.release(row.sessionId)}>{t.release}</ActionButton>}
        <ActionButton danger action={adminActions.reset(row.sessionId)}>
          {t.reset}
        </ActionButton>
        <ActionButton danger action={adminActions.remove(row.sessionId)}>
          {t.remove}
        </ActionButton>
      </div>
    </header>
  );
}

/** Opens the film of the session, which the hub draws with the components of the desktop. It has texts, so it needs the role for them. */
function FilmLink({ session, content }: { session: string; content: boolean }): ReactNode {
  const t = useTexts(texts);
  const why = useId();
  return (
    <>
      <Button
        size="sm"
        aria-disabled={!content}
        aria-describedby={content ? undefined : why}
        title={content ? undefined : t.filmNot}
        data-watch-film
        onClick={() => content && location.assign(`/admin/film/${encodeURIComponent(session)}`)}
      >
        {t.film}
      </Button>
      {!content && (
        <span id={why} className="hidden-text">
          {t.filmNot}
        </span>
      )}
    </>
  );
}
