// The monitor's door. Refusals are problem documents and become `Refusal`s.

import type { AuditPage, AuditRecord, AuditVerdict, Me } from "./types.js";

export class Refusal extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Something that is done to a session or a replica, with a reason, and is kept in the audit. */
export interface Order {
  readonly method: "POST" | "DELETE";
  readonly path: string;
  readonly body?: Readonly<Record<string, string>>;
}

export interface AuditQuery {
  readonly who?: string;
  readonly action?: string;
  readonly target?: string;
  readonly after?: string;
  readonly limit?: number;
}

const root = "/api/admin";

export class Api {
  private readonly fetch: typeof fetch;

  constructor(fetcher: typeof fetch) {
    this.fetch = fetcher;
  }

  me = (): Promise<Me> => this.ask("GET", "/me");
  audit = (query: AuditQuery): Promise<AuditPage> => this.ask("GET", `/audit${queryOf(query)}`);
  verify = (): Promise<AuditVerdict> => this.ask("GET", "/audit/verify");

  /** Whether there is such a session; also yes when nobody can tell. */
  has = (session: string): Promise<boolean> =>
    this.ask("GET", sessionPath(session)).then(
      () => true,
      (error: unknown) => !(error instanceof Refusal && error.status === 404),
    );

  /** Carries an order out. The same key is never carried out twice. */
  order = (order: Order, reason: string, key: string): Promise<AuditRecord | undefined> =>
    this.ask(order.method, order.path, { ...order.body, reason }, { "Idempotency-Key": key });

  private async ask<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    const r = await this.fetch(root + path, {
      method,
      credentials: "same-origin",
      headers: body === undefined ? headers : { ...headers, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!r.ok) throw await refusalOf(r);
    return (r.status === 204 ? undefined : await r.json()) as T;
  }
}

/** The part of an address behind the path: only what is there. */
export function queryOf(query: object): string {
  const given = Object.entries(query).filter(([, v]) => v !== undefined && v !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([k, v]) => [k, String(v)]))}`;
}

async function refusalOf(r: Response): Promise<Refusal> {
  const p = (await r.json().catch(() => ({}))) as { code?: number; detail?: string; title?: string };
  return new Refusal(r.status, p.code ?? 0, p.detail ?? p.title ?? `HTTP ${r.status}`);
}

/** Where changes are pushed from. */
export function liveAddress(interest: { rows: boolean; session?: string }): string {
  return `${root}/live${queryOf({ rows: interest.rows ? "true" : undefined, session: interest.session })}`;
}

/** Where a session's log is pushed from. */
export function tailAddress(session: string, query: { after?: string; type?: string; agent?: string; monitor?: string }): string {
  return `${root}/sessions/${encodeURIComponent(session)}/tail${queryOf(query)}`;
}

const sessionPath = (id: string): string => `/sessions/${encodeURIComponent(id)}`;

/** What can be ordered. */
export const orders = {
  interrupt: (session: string, only: { agentId?: string; monitorId?: string } = {}): Order => ({
    method: "POST",
    path: `${sessionPath(session)}/interrupt`,
    body: only as Record<string, string>,
  }),
  cancel: (session: string, message: string): Order => ({ method: "POST", path: `${sessionPath(session)}/messages/${encodeURIComponent(message)}/cancel` }),
  closeTab: (session: string, connection: string): Order => ({ method: "POST", path: `${sessionPath(session)}/tabs/${encodeURIComponent(connection)}/close` }),
  handOver: (session: string, to: string): Order => ({ method: "POST", path: `${sessionPath(session)}/handover`, body: { to } }),
  reset: (session: string): Order => ({ method: "POST", path: `${sessionPath(session)}/reset` }),
  release: (session: string): Order => ({ method: "POST", path: `${sessionPath(session)}/release` }),
  remove: (session: string): Order => ({ method: "DELETE", path: sessionPath(session) }),
  drain: (replica: string): Order => ({ method: "POST", path: `/replicas/${encodeURIComponent(replica)}/drain` }),
  undrain: (replica: string): Order => ({ method: "POST", path: `/replicas/${encodeURIComponent(replica)}/undrain` }),
};

/** A key that nobody else uses. Pages that are not secure have no randomUUID. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}
