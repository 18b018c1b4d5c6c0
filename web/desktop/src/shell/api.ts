// The hub's REST door, as far as the desktop needs it. Refusals are problem documents and become `ApiError`s.

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

/** A session as listings show it. */
export interface SessionCard {
  sessionId: SessionID;
  title?: string;
  user: string;
  /** What we may do. */
  access: "viewer" | "operator" | "owner";
  /** It has unfinished work. */
  working: boolean;
  /** Its data cannot be read. */
  setAside?: boolean;
  metadata: { createdAt: string; lastActivity: string; provider: string };
}

export interface Me {
  user: string;
  roles: string[];
  /** How people sign in; "none" where nobody does. */
  auth?: string;
}

/** What the page has to know of the hub before it can begin. */
export interface HubInfo {
  version: string;
  /** Where html windows and apps live, another origin than ours; empty when the hub has none. */
  appsOrigin: string;
  /** Who can think, and who does in new sessions. */
  providers: string[];
  provider: string;
}

export interface JoinTicket {
  /** What a phone opens. */
  url: string;
  expiresIn: number;
  /** The address is this machine's own, which no phone can reach. */
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
  /** The newest rows of a monitor, or those before one by its id. */
  rows = (id: SessionID, query: Query): Promise<{ rows: UIRow[]; more: boolean }> => this.ask("GET", `/api/sessions/${encodeURIComponent(id)}/rows?${queryOf(query)}`);
  tasks = (id: SessionID, query: Query): Promise<{ tasks: unknown[] }> => this.ask("GET", `/api/sessions/${encodeURIComponent(id)}/tasks?${queryOf(query)}`);
  signOut = (): Promise<void> => this.ask("POST", "/api/logout");

  /** The status of a plain request, to learn why a socket was refused. */
  probe = async (id: SessionID): Promise<number> => (await this.fetch(`/api/sessions/${encodeURIComponent(id)}`)).status;

  /** The text of a file of the session, for apps that live in one. */
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

/** What a question to the hub says more precisely; what is undefined is not said. */
type Query = Record<string, string | number | undefined>;

function queryOf(query: Query): URLSearchParams {
  return new URLSearchParams(Object.entries(query).flatMap(([k, v]) => (v === undefined ? [] : [[k, String(v)]])));
}

async function problemOf(r: Response): Promise<ApiError> {
  const p = (await r.json().catch(() => ({}))) as { code?: number; detail?: string; title?: string };
  return new ApiError(r.status, p.code ?? 0, p.detail ?? p.title ?? `HTTP ${r.status}`);
}
