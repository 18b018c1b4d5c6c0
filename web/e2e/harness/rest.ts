// The hub's REST door, for what tests do without a browser and for what they compare a page with.

import type { Action, MonitorID, ServerEvent, SessionID, SessionState, UIRow, WindowState } from "../../core/src/index.js";

export class Rest {
  private readonly url: string;
  private readonly token: string;

  constructor(url: string, token: string) {
    this.url = url;
    this.token = token;
  }

  async newSession(title = ""): Promise<SessionID> {
    return (await this.ask<{ sessionId: SessionID }>("POST", "/api/sessions", { title })).sessionId;
  }

  snapshot(session: SessionID): Promise<SessionState> {
    return this.ask("GET", `/api/sessions/${session}/snapshot`);
  }

  async window(session: SessionID, id: string): Promise<WindowState | undefined> {
    return (await this.snapshot(session)).windows?.find((w) => w.windowId === id);
  }

  async rows(session: SessionID): Promise<UIRow[]> {
    return (await this.snapshot(session)).recent_messages ?? [];
  }

  /** Shows something in a session, as a program does. */
  async act(session: SessionID, actions: Action[], monitorId: MonitorID = "monitor-0"): Promise<void> {
    await this.ask("POST", `/api/sessions/${session}/actions`, { actions, monitorId });
  }

  async say(session: SessionID, content: string, monitorId: MonitorID = "monitor-0"): Promise<void> {
    await this.ask("POST", `/api/sessions/${session}/messages`, { content, monitorId });
  }

  /** All of a session's log that is kept. */
  async events(session: SessionID): Promise<ServerEvent[]> {
    const all: ServerEvent[] = [];
    for (let after = ""; ; ) {
      const page = await this.ask<{ events: ServerEvent[]; next?: string }>("GET", `/api/sessions/${session}/events?limit=1000${after}`);
      all.push(...page.events);
      if (page.next === undefined || page.events.length === 0) return all;
      after = `&after=${page.next}`;
    }
  }

  async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const r = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${await r.text()}`);
    return (r.status === 204 ? undefined : await r.json()) as T;
  }
}
