import type { ReactNode } from "react";
import { adminActions } from "../actions/action.js";
import { ActionButton } from "../actions/button.js";
import type { Detail, Monitor } from "../api/types.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { usePage } from "../state/use.js";
import { session as texts } from "../texts.js";
import { Id } from "../ui/id.js";
import { type Branch, treeOf } from "./tree.js";

/** A section with a heading and a count. */
function Panel({ name, count, wide = false, children }: { name: string; count: number; wide?: boolean; children: ReactNode }): ReactNode {
  return (
    <section className={wide ? "panel panel-wide" : "panel"}>
      <div className="panel-head">
        <h2>{name}</h2>
        <span className="faint">{count}</span>
      </div>
      {children}
    </section>
  );
}

/** A small table; rows are lists of cells, with their key first. */
function SmallTable({ name, heads, rows }: { name: string; heads: readonly string[]; rows: readonly (readonly [string, ...ReactNode[]])[] }): ReactNode {
  const t = useTexts(texts);
  if (rows.length === 0) return <p className="faint">{t.nothing}</p>;
  return (
    <div className="scroller" role="region" tabIndex={0} aria-label={name}>
      <table className="plain">
        <thead>
          <tr>
            {heads.map((h, n) => (
              <th key={h === "" ? n : h} scope="col">
                {h === "" ? <span className="hidden-text">{t.actions}</span> : h}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([key, ...cells]) => (
            <tr key={key} data-key={key}>
              {cells.map((c, n) => (
                <td key={n}>{c}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A text, or a placeholder without the permission to see it. */
function RestrictedText({ text }: { text: string | undefined }): ReactNode {
  const t = useTexts(texts);
  const content = usePage((s) => s.me?.content === true);
  return content ? <span className="free-text">{text}</span> : <span className="faint">{t.hidden}</span>;
}

export function Monitors({ detail, now }: { detail: Detail; now: number }): ReactNode {
  const t = useTexts(texts);
  return (
    <Panel name={t.monitors} count={detail.monitors.length}>
      {detail.monitors.map((m) => (
        <MonitorPart key={m.id} session={detail.row.sessionId} monitor={m} now={now} />
      ))}
      {detail.monitors.length === 0 && <p className="faint">{t.nothing}</p>}
    </Panel>
  );
}

function MonitorPart({ session, monitor: m, now }: { session: string; monitor: Monitor; now: number }): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  const content = usePage((s) => s.me?.content === true);
  return (
    <div className="monitor" data-monitor={m.id}>
      <div className="monitor-head">
        <h3>
          <span className="mono">{m.id}</span> {content ? m.name : ""}
        </h3>
        {m.budget.bounded ? (
          <label className="budget">
            {t.budget} <progress max={100} value={Math.min(100, m.budget.used)} /> {m.budget.used}%
          </label>
        ) : (
          <span className="faint">{t.foreground}</span>
        )}
        <ActionButton action={adminActions.interruptMonitor(session, m.id)} label={t.ofAgent(m.id)}>
          {t.interrupt}
        </ActionButton>
      </div>
      {m.queue.length > 0 && (
        <SmallTable
          name={`${t.queue} ${m.id}`}
          heads={[t.place, t.message, t.since, t.text, ""]}
          rows={m.queue.map((q) => [
            q.messageId,
            q.place,
            <Id key="id" id={q.messageId} />,
            q.since === undefined ? "" : f.age(now - q.since),
            <RestrictedText key="text" text={q.text} />,
            <ActionButton key="action" action={adminActions.cancel(session, q.messageId)}>{t.cancel}</ActionButton>,
          ])}
        />
      )}
    </div>
  );
}

export function Agents({ detail, now }: { detail: Detail; now: number }): ReactNode {
  const t = useTexts(texts);
  return (
    <Panel name={t.agents} count={detail.agents.length}>
      {detail.agents.length === 0 ? <p className="faint">{t.noAgents}</p> : <Branches session={detail.row.sessionId} branches={treeOf(detail.agents)} now={now} />}
    </Panel>
  );
}

function Branches({ session, branches, now }: { session: string; branches: readonly Branch[]; now: number }): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  return (
    <ul className="tree">
      {branches.map(({ agent: a, children }) => (
        <li key={a.id} data-agent={a.id}>
          <div className="tree-agent">
            <i className={`dot dot-${a.status === "idle" ? "ink-3" : "accent"}`} aria-hidden />
            <Id id={a.id} />
            <span className="tree-facts faint">
              {[a.kind, a.status, a.tool, a.provider, a.monitorId, a.windowId, a.startedAt === undefined ? "" : f.age(now - a.startedAt), (a.attempt ?? 0) > 1 ? t.attempt(String(a.attempt)) : ""]
                .filter((part) => part !== undefined && part !== "")
                .join(" · ")}
            </span>
            {a.status !== "idle" && (
              <ActionButton action={adminActions.interruptAgent(session, a.id)} label={t.ofAgent(a.id)}>
                {t.interrupt}
              </ActionButton>
            )}
          </div>
          {children.length > 0 && <Branches session={session} branches={children} now={now} />}
        </li>
      ))}
    </ul>
  );
}

export function Windows({ detail }: { detail: Detail }): ReactNode {
  const t = useTexts(texts);
  return (
    <Panel name={t.windows} count={detail.windows.length}>
      <SmallTable
        name={t.windows}
        heads={[t.window, t.monitor, t.title, t.renderer, t.locked]}
        rows={detail.windows.map((w) => [`${w.monitorId}/${w.id}`, <Id key="id" id={w.id} />, w.monitorId, <RestrictedText key="title" text={w.title} />, w.renderer, w.lockedBy === undefined ? "" : <Id key="by" id={w.lockedBy} />])}
      />
    </Panel>
  );
}

export function Questions({ detail, now }: { detail: Detail; now: number }): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  const kinds: Record<string, string> = { approval: t.approval, prompt: t.prompt, plan: t.plan };
  return (
    <Panel name={t.questions} count={detail.asks.length}>
      <SmallTable
        name={t.questions}
        heads={[t.question, t.type, t.agent, t.deadline]}
        rows={detail.asks.map((a) => [
          a.id,
          <RestrictedText key="title" text={a.title} />,
          <span key="kind" title={a.id}>{kinds[a.kind] ?? a.kind}</span>,
          <Id key="agent" id={a.agentId} />,
          a.deadline === undefined ? "" : <span key="at" className={a.deadline < now ? "bad" : undefined} title={f.moment(a.deadline)}>{f.clock(a.deadline)}</span>,
        ])}
      />
    </Panel>
  );
}

export function Tabs({ detail, now }: { detail: Detail; now: number }): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  return (
    <Panel wide name={t.tabs} count={detail.tabs.length}>
      <SmallTable
        name={t.tabs}
        heads={[t.tab, t.user, t.replica, t.monitors, t.form, t.since, t.lag, ""]}
        rows={detail.tabs.map((c) => [
          c.connectionId,
          <Id key="id" id={c.connectionId} />,
          c.user,
          <Id key="replica" id={c.replica} />,
          (c.monitors ?? []).join(", "),
          c.form,
          c.since === undefined ? "" : f.age(now - c.since),
          <span key="lag" className={c.lag > 100 ? "bad" : undefined}>{f.number(c.lag)}</span>,
          <ActionButton key="action" action={adminActions.closeTab(detail.row.sessionId, c.connectionId)}>{t.close}</ActionButton>,
        ])}
      />
    </Panel>
  );
}

export function Owners({ detail }: { detail: Detail }): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  return (
    <Panel name={t.owners} count={detail.owners.length}>
      <SmallTable name={t.owners} heads={[t.epoch, t.replica, t.time]} rows={detail.owners.map((o) => [`${o.epoch} ${o.replica}`, o.epoch, <Id key="replica" id={o.replica} />, f.moment(o.at)])} />
    </Panel>
  );
}

export function Ledger({ detail }: { detail: Detail }): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  return (
    <Panel wide name={t.ledger} count={detail.messages.length}>
      <SmallTable
        name={t.ledger}
        heads={[t.message, t.time, t.verdict, t.agent]}
        rows={detail.messages.map((m) => [m.messageId, <Id key="id" id={m.messageId} />, f.moment(m.time), m.code === undefined || m.code === 0 ? m.verdict : `${m.verdict} ${m.code}`, <Id key="agent" id={m.agentId} />])}
      />
    </Panel>
  );
}
