import type { Overview, Replica, Row, Sample } from "../src/api/types.js";

export function row(id: string, more: Partial<Row> = {}): Row {
  return {
    sessionId: id, user: "ann", status: "idle", epoch: 1, tabs: 0, monitors: 1, windows: 0, agents: 0, queued: 0, questions: 0,
    budget: 0, errors: 0, tokens: 0, createdAt: 0, updatedAt: 0, ...more,
  };
}

const still: Sample = {
  events: 0, deliveries: 0, appendP50: 0, appendP99: 0, storeRtt: 0, agents: 0, queued: 0, questions: 0, takeovers: 0, fenced: 0, slow: 0,
  rateLimited: 0, storeErrors: 0, goroutines: 0, residentBytes: 0,
};

export function replica(id: string, sample: Partial<Sample> = {}): Replica {
  return { id, state: "serving", startedAt: 0, owned: 0, followed: 0, tabs: 0, agents: 0, agentLimit: 10, sample: { ...still, ...sample } };
}

export function overview(time: number, replicas: Replica[]): Overview {
  return { time, replicas, totals: { sessions: 0, byStatus: {}, tabs: 0, agents: 3, limit: 10, queued: 2, questions: 0 }, alerts: [] };
}
