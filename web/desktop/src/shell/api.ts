// The client of the hub's REST API. Problem documents become `ApiError`s.

import type { MonitorID, SessionID, UIRow } from "../../../core/src/index.js";

export class ApiError extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** A session in the list of sessions. */
export interface SessionCard {
  sessionId: SessionID;
  title?: string;
  user: string;
  /** The access of the signed-in user. */
  access: "viewer" | "operator" | "owner";
  /** Whether it has unfinished work. */
  working: boolean;
  /** Whether it is quarantined because its data cannot be read. */
  setAside?: boolean;
  metadata: { createdAt: string; lastActivity: string; provider: string };
}

export interface Me {
  user: string;
  roles: string[];
  /** The sign-in method; "none" if the hub has no sign-in. */
  auth?: string;
}

/** The data of the hub that the page needs to start. */
export interface HubInfo {
  version: string;
  /** The separate origin that serves html windows and apps; empty if the hub has none. */
  appsOrigin: string;
  /** The available providers, and the one of new sessions. */
  providers: string[];
  provider: string;
}

export interface JoinTicket {
  /** The address that the phone opens. */
  url: string;
  expiresIn: number;
  /** Whether the address is a loopback address, which no phone can reach. */
  loopback: boolean;
}

export class Api {
  private readonly fetch: typeof fetch;

  constructor(fetcher: typeof fetch) {
    this.fetch = fetcher;
  }

  me = (): Promise<Me> => this.ask("GET", "/api/me");
  hub = (): Promise<HubInfo> => this.ask("GET", "/api/hub");
  sessions = async (): Promise<SessionCard[]> => (await this.ask<{ sessions: SessionCard[] }>("GET", "/api/sessions")).sessions ?? [];
  session = (id: SessionID): Promise<SessionCard> => this.ask("GET", `/api/sessions/${encodeURIComponent(id)}`);
  createSession = (title: string): Promise<SessionCard> => this.ask("POST", "/api/sessions", { title });
  renameSession = (id: SessionID, title: string): Promise<SessionCard> => this.ask("PATCH", `/api/sessions/${encodeURIComponent(id)}`, { title });
  deleteSession = (id: SessionID): Promise<void> => this.ask("DELETE", `/api/sessions/${encodeURIComponent(id)}`);
  joinTicket = (session: SessionID, monitor?: MonitorID): Promise<JoinTicket> => this.ask("POST", "/api/join-tickets", { session, monitor });
  join = (ticket: string): Promise<{ session: SessionID; monitor?: MonitorID }> => this.ask("POST", "/api/join", { ticket });
  /** The newest rows of a monitor, or the rows before a row id. */
  rows = (id: SessionID, query: Query): Promise<{ rows: UIRow[]; more: boolean }> => this.ask("GET", `/api/sessions/${encodeURIComponent(id)}/rows?${queryOf(query)}`);
  tasks = (id: SessionID, query: Query): Promise<{ tasks: unknown[] }> => this.ask("GET", `/api/sessions/${encodeURIComponent(id)}/tasks?${queryOf(query)}`);
  signOut = (): Promise<void> => this.ask("POST", "/api/logout");

  /** The HTTP status of the session, which explains a refused WebSocket handshake. */
  probe = async (id: SessionID): Promise<number> => (await this.fetch(`/api/sessions/${encodeURIComponent(id)}`)).status;

  /** The text of a file of the session, for apps stored as files. */
  fileText = async (path: string): Promise<string> => {
    const r = await this.fetch(path);
    if (!r.ok) throw await problemOf(r);
    return r.text();
  };

  private async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const r = await this.fetch(path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
    });
    if (!r.ok) throw await problemOf(r);
    return (r.status === 204 ? undefined : await r.json()) as T;
  }
}

/** Query parameters; undefined ones are left out. */
type Query = Record<string, string | number | undefined>;

function queryOf(query: Query): URLSearchParams {
  return new URLSearchParams(Object.entries(query).flatMap(([k, v]) => (v === undefined ? [] : [[k, String(v)]])));
}

async function problemOf(r: Response): Promise<ApiError> {
  const p = (await r.json().catch(() => ({}))) as { code?: number; detail?: string; title?: string };
  return new ApiError(r.status, p.code ?? 0, p.detail ?? p.title ?? `HTTP ${r.status}`);
}
