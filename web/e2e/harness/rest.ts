// A client of the hub's REST API, for actions without a browser and for expected values.

import type { Action, MonitorID, ServerEvent, SessionID, SessionState, UIRow, WindowState } from "../../core/src/index.js";

export class Rest {
  private readonly url: string;
  private readonly token: string;

  constructor(url: string, token: string) {
    this.url = url;
    this.token = token;
  }

  async newSession(title = ""): Promise<SessionID> {
    return (await this.request<{ sessionId: SessionID }>("POST", "/api/sessions", { title })).sessionId;
  }

  snapshot(session: SessionID): Promise<SessionState> {
    return this.request("GET", `/api/sessions/${session}/snapshot`);
  }

  async window(session: SessionID, id: string): Promise<WindowState | undefined> {
    return (await this.snapshot(session)).windows?.find((w) => w.windowId === id);
  }

  async rows(session: SessionID): Promise<UIRow[]> {
    return (await this.snapshot(session)).recent_messages ?? [];
  }

  /** Runs desktop actions in a session, as a program does. */
  async runActions(session: SessionID, actions: Action[], monitorId: MonitorID = "monitor-0"): Promise<void> {
    await this.request("POST", `/api/sessions/${session}/actions`, { actions, monitorId });
  }

  async sendMessage(session: SessionID, content: string, monitorId: MonitorID = "monitor-0"): Promise<void> {
    await this.request("POST", `/api/sessions/${session}/messages`, { content, monitorId });
  }

  /** The whole retained log of a session. */
  async events(session: SessionID): Promise<ServerEvent[]> {
    const all: ServerEvent[] = [];
    for (let after = ""; ; ) {
      const page = await this.request<{ events: ServerEvent[]; next?: string }>("GET", `/api/sessions/${session}/events?limit=1000${after}`);
      all.push(...page.events);
      if (page.next === undefined || page.events.length === 0) return all;
      after = `&after=${page.next}`;
    }
  }

  async request<T>(method: string, path: string, body?: unknown): Promise<T> {
    const r = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${await r.text()}`);
    return (r.status === 204 ? undefined : await r.json()) as T;
  }
}
