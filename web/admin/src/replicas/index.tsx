import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { adminActions } from "../actions/action.js";
import { ActionButton } from "../actions/button.js";
import type { Alert, Replica } from "../api/types.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useActions, useHubTime, usePage } from "../state/use.js";
import { defaultView, type View, writeView } from "../table/filter.js";
import { replicas as texts } from "../texts.js";
import { Id } from "../ui/id.js";

/** The age of a sample from which a replica counts as silent, in ms. */
const silentAfter = 5000;

export function Replicas(): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  const overview = usePage((s) => s.overview);
  const now = useHubTime();
  if (overview === undefined) return null;
  const { totals } = overview;
  return (
    <section aria-label={t.replicas}>
      <p className="replicas-totals">{t.totals(f.number(totals.sessions), f.number(totals.tabs), `${f.number(totals.agents)}/${f.number(totals.limit)}`, f.number(totals.queued), f.number(totals.questions))}</p>
      <ul className="replicas-cards">
        {overview.replicas.map((r) => (
          <Card key={r.id} replica={r} now={now} />
        ))}
      </ul>
      <Alerts alerts={overview.alerts} />
    </section>
  );
}

function Card({ replica: r, now }: { replica: Replica; now: number }): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  const state = { serving: t.serving, draining: t.draining, drained: t.drained }[r.state] ?? r.state;
  const quiet = r.sampledAt === undefined ? 0 : now - r.sampledAt;
  const facts: [string, string][] = [
    [t.uptime, f.age(now - r.startedAt)],
    [t.owned, f.number(r.owned)],
    [t.tabs, f.number(r.tabs)],
    [t.agents, `${f.number(r.agents)}/${f.number(r.agentLimit)}`],
    [t.memory, f.bytes(r.sample.residentBytes)],
    [t.store, f.latency(r.sample.storeRtt)],
    [t.goroutines, r.sample.goroutines > 0 ? f.number(r.sample.goroutines) : "–"],
    [t.version, r.version ?? "–"],
  ];
  return (
    <li className="card" data-replica={r.id} data-state={r.state}>
      <div className="card-head">
        <i className={`dot dot-${r.state === "serving" ? "success" : "warning"}`} aria-hidden />
        <h2 title={r.self === true ? t.self : undefined}>
          <Id id={r.id} />
          {r.self === true && <span aria-hidden> ●</span>}
          {r.self === true && <span className="hidden-text">, {t.self}</span>}
        </h2>
        <span className="card-state">{state}</span>
        {r.state === "serving" ? <ActionButton action={adminActions.drain(r.id)}>{t.drain}</ActionButton> : <ActionButton action={adminActions.undrain(r.id)}>{t.undrain}</ActionButton>}
      </div>
      <dl className="card-facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd title={value}>{value}</dd>
          </div>
        ))}
      </dl>
      {quiet > silentAfter && <p className="card-silent">{t.silent(f.age(quiet))}</p>}
    </li>
  );
}

/** The view of the sessions that an alert is about; undefined for alerts without sessions. */
export function viewOf(alert: Alert): View | undefined {
  switch (alert.kind) {
    case "stuck":
    case "stalled":
    case "orphaned":
    case "quarantined":
      return { ...defaultView, status: alert.kind };
    case "overdue":
      return { ...defaultView, questions: true };
    case "takeovers":
    case "fenced":
    case "slow":
    case "storeErrors":
    case "silentReplica":
    case "goneReplica":
      return alert.where === undefined ? undefined : { ...defaultView, owner: alert.where };
    default:
      return undefined;
  }
}

function Alerts({ alerts }: { alerts: readonly Alert[] }): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  const { go } = useActions();
  const names: Record<string, string> = {
    stuck: t.stuck,
    stalled: t.stalled,
    orphaned: t.orphaned,
    quarantined: t.quarantined,
    takeovers: t.takeovers,
    fenced: t.fenced,
    slow: t.slow,
    rateLimited: t.rateLimited,
    storeErrors: t.storeErrors,
    overdue: t.overdue,
    silentReplica: t.silentReplica,
    goneReplica: t.goneReplica,
    agentsFull: t.agentsFull,
  };
  if (alerts.length === 0) return <p className="alerts alerts-calm">{t.calm}</p>;
  return (
    <ul className="alerts" aria-label={t.alerts}>
      {alerts.map((a) => {
        const view = viewOf(a);
        const text = t.alert(names[a.kind] ?? a.kind, f.number(a.count), a.where ?? "");
        return (
          <li key={`${a.kind} ${a.where ?? ""}`} data-alert={a.kind}>
            {view === undefined ? (
              <span className="alert">
                <TriangleAlert size={14} aria-hidden />
                {text}
              </span>
            ) : (
              <button type="button" className="alert" onClick={() => go({ page: "sessions", query: writeView(view) })}>
                <TriangleAlert size={14} aria-hidden />
                {text}
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
