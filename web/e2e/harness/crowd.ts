// An event stream of the admin API with very many sessions. Only the stream is synthetic; the page and its permissions
// are the hub's.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Overview, Row } from "../../admin/src/api/types.js";

export class Crowd {
  readonly url: string;
  readonly sessions: number;
  private readonly server: Server;

  private constructor(server: Server, sessions: number) {
    this.server = server;
    this.sessions = sessions;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Starts a server for that many sessions; up to 100 of them change in every tick. */
  static async start(sessions: number): Promise<Crowd> {
    const changing = Math.min(100, sessions);
    const rows = Array.from({ length: sessions }, (_, n) => rowNumber(n));
    const server = createServer((_, answer) => {
      answer.writeHead(200, { "content-type": "text/event-stream" });
      const push = (kind: string, data: unknown): void => void answer.write(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`);
      push("overview", overviewOf(sessions));
      for (let at = 0; at < sessions; at += chunkSize) push("rows", { full: at === 0, more: at + chunkSize < sessions, rows: rows.slice(at, at + chunkSize) });
      let next = 0;
      const timer = setInterval(() => {
        const changed = Array.from({ length: changing }, () => {
          const n = (next += 7919) % sessions;
          return (rows[n] = { ...rows[n]!, updatedAt: Date.now(), tokens: rows[n]!.tokens + 1 });
        });
        push("overview", overviewOf(sessions));
        push("rows", { rows: changed });
      }, 500);
      answer.on("close", () => clearInterval(timer));
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return new Crowd(server, sessions);
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** The number of rows per message. */
const chunkSize = 500;

function rowNumber(n: number): Row {
  return {
    sessionId: `ses-${String(n).padStart(6, "0")}`, user: `user-${n % 97}`, title: `Session ${n}`, status: n % 5 === 0 ? "working" : "idle", owner: `hub-${n % 3}`,
    epoch: 1, top: `1-${n}`, tabs: n % 4, monitors: 1, windows: n % 3, agents: n % 5 === 0 ? 1 : 0, queued: n % 11, questions: 0, budget: 0, errors: 0,
    tokens: n, createdAt: Date.now() - 1e6, updatedAt: Date.now() - n * 10,
  };
}

function overviewOf(sessions: number): Overview {
  return { time: Date.now(), replicas: [], totals: { sessions, byStatus: {}, tabs: 0, agents: 0, limit: 1, queued: 0, questions: 0 }, alerts: [] };
}
