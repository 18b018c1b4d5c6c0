// The client of the admin API. The hub reports errors as problem documents, which become `ProblemError`s.

import type { AuditPage, AuditRecord, AuditVerdict, Me } from "./types.js";

export class ProblemError extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The HTTP request of an admin action. The hub records each with its reason in the audit log. */
export interface ActionRequest {
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

  me = (): Promise<Me> => this.request("GET", "/me");
  audit = (query: AuditQuery): Promise<AuditPage> => this.request("GET", `/audit${queryOf(query)}`);
  verify = (): Promise<AuditVerdict> => this.request("GET", "/audit/verify");

  /** Whether a session exists; also true if that cannot be determined. */
  sessionExists = (session: string): Promise<boolean> =>
    this.request("GET", sessionPath(session)).then(
      () => true,
      (error: unknown) => !(error instanceof ProblemError && error.status === 404),
    );

  /** Runs an admin action. The hub runs the same idempotency key at most once. */
  runAction = (order: ActionRequest, reason: string, key: string): Promise<AuditRecord | undefined> =>
    this.request(order.method, order.path, { ...order.body, reason }, { "Idempotency-Key": key });

  private async request<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    const r = await this.fetch(root + path, {
      method,
      credentials: "same-origin",
      headers: body === undefined ? headers : { ...headers, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!r.ok) throw await problemOf(r);
    return (r.status === 204 ? undefined : await r.json()) as T;
  }
}

/** The query string of an address, with the non-empty values. */
export function queryOf(query: object): string {
  const given = Object.entries(query).filter(([, v]) => v !== undefined && v !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([k, v]) => [k, String(v)]))}`;
}

async function problemOf(r: Response): Promise<ProblemError> {
  const p = (await r.json().catch(() => ({}))) as { code?: number; detail?: string; title?: string };
  return new ProblemError(r.status, p.code ?? 0, p.detail ?? p.title ?? `HTTP ${r.status}`);
}

/** The address of the event stream for the overview, the table and one session. */
export function liveAddress(interest: { rows: boolean; session?: string }): string {
  return `${root}/live${queryOf({ rows: interest.rows ? "true" : undefined, session: interest.session })}`;
}

/** The address of the event stream of a session's log. */
export function tailAddress(session: string, query: { after?: string; type?: string; agent?: string; monitor?: string }): string {
  return `${root}/sessions/${encodeURIComponent(session)}/tail${queryOf(query)}`;
}

const sessionPath = (id: string): string => `/sessions/${encodeURIComponent(id)}`;

/** The requests of all admin actions. */
export const actionRequests = {
  interrupt: (session: string, only: { agentId?: string; monitorId?: string } = {}): ActionRequest => ({
    method: "POST",
    path: `${sessionPath(session)}/interrupt`,
    body: only as Record<string, string>,
  }),
  cancel: (session: string, message: string): ActionRequest => ({ method: "POST", path: `${sessionPath(session)}/messages/${encodeURIComponent(message)}/cancel` }),
  closeTab: (session: string, connection: string): ActionRequest => ({ method: "POST", path: `${sessionPath(session)}/tabs/${encodeURIComponent(connection)}/close` }),
  handOver: (session: string, to: string): ActionRequest => ({ method: "POST", path: `${sessionPath(session)}/handover`, body: { to } }),
  reset: (session: string): ActionRequest => ({ method: "POST", path: `${sessionPath(session)}/reset` }),
  release: (session: string): ActionRequest => ({ method: "POST", path: `${sessionPath(session)}/release` }),
  remove: (session: string): ActionRequest => ({ method: "DELETE", path: sessionPath(session) }),
  drain: (replica: string): ActionRequest => ({ method: "POST", path: `/replicas/${encodeURIComponent(replica)}/drain` }),
  undrain: (replica: string): ActionRequest => ({ method: "POST", path: `/replicas/${encodeURIComponent(replica)}/undrain` }),
};

/** A random idempotency key. Insecure contexts have no randomUUID. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}
