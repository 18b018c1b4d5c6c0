// The types of the admin API, as in adminview/api.go. Times are in ms since 1970.

export type Status = "quarantined" | "stuck" | "orphaned" | "waiting" | "stalled" | "working" | "idle" | "dormant";

/** In the order of urgency, the most urgent first. */
export const statuses: readonly Status[] = ["quarantined", "stuck", "orphaned", "waiting", "stalled", "working", "idle", "dormant"];

export interface Row {
  sessionId: string;
  user: string;
  title?: string;
  status: Status;
  /** The command that a stuck session is executing, and for how long. */
  doing?: string;
  doingMs?: number;
  owner?: string;
  epoch: number;
  top?: string;
  tabs: number;
  monitors: number;
  windows: number;
  agents: number;
  queued: number;
  questions: number;
  /** In per cent. */
  budget: number;
  errors: number;
  lastError?: string;
  tokens: number;
  cost?: number;
  createdAt: number;
  updatedAt: number;
  reason?: string;
}

export interface Sample {
  events: number;
  deliveries: number;
  appendP50: number;
  appendP99: number;
  storeRtt: number;
  agents: number;
  queued: number;
  questions: number;
  takeovers: number;
  fenced: number;
  slow: number;
  rateLimited: number;
  storeErrors: number;
  goroutines: number;
  residentBytes: number;
}

export interface Replica {
  id: string;
  state: string;
  version?: string;
  url?: string;
  startedAt: number;
  owned: number;
  followed: number;
  tabs: number;
  agents: number;
  agentLimit: number;
  self?: boolean;
  sample: Sample;
  sampledAt?: number;
}

export interface Totals {
  sessions: number;
  byStatus: Partial<Record<Status, number>>;
  tabs: number;
  agents: number;
  limit: number;
  queued: number;
  questions: number;
}

export interface Alert {
  kind: string;
  count: number;
  where?: string;
}

export interface Overview {
  time: number;
  replicas: Replica[];
  totals: Totals;
  alerts: Alert[];
}

/** The measurements of all replicas over 5 seconds. */
export interface Point {
  time: number;
  events: number;
  deliveries: number;
  appendP50: number;
  appendP99: number;
  agents: number;
  queued: number;
  takeovers: number;
}

/** Measurements from before the page was opened. */
export interface Past {
  points: Point[];
}

/**
 * Changes of the table. With `full`, the table consists of the rows in this and the following messages, up to the first
 * without `more`.
 */
export interface Rows {
  full?: boolean;
  more?: boolean;
  rows?: Row[];
  gone?: string[];
}

export interface Queued {
  messageId: string;
  place: number;
  since?: number;
  windowId?: string;
  text?: string;
}

export interface Monitor {
  id: string;
  name?: string;
  queue: Queued[];
  budget: { bounded: boolean; used: number };
}

export interface Agent {
  id: string;
  kind: string;
  parent?: string;
  monitorId?: string;
  windowId?: string;
  status: string;
  provider?: string;
  messageId?: string;
  tool?: string;
  startedAt?: number;
  attempt?: number;
}

export interface WindowInfo {
  id: string;
  monitorId: string;
  title?: string;
  renderer?: string;
  lockedBy?: string;
}

export interface Ask {
  id: string;
  kind: string;
  agentId?: string;
  deadline?: number;
  title?: string;
}

export interface Tab {
  connectionId: string;
  clientId?: string;
  user?: string;
  replica: string;
  monitors?: string[];
  since?: number;
  lag: number;
  form?: string;
}

export interface Owner {
  replica: string;
  epoch: number;
  at: number;
}

export interface LedgerMessage {
  messageId: string;
  time: number;
  verdict: string;
  /** Its state: waiting, running or ended. */
  state?: string;
  code?: number;
  agentId?: string;
}

export interface Detail {
  row: Row;
  /** Whether the owner has reported the details; otherwise they come from the log. */
  known: boolean;
  monitors: Monitor[];
  agents: Agent[];
  windows: WindowInfo[];
  asks: Ask[];
  tabs: Tab[];
  owners: Owner[];
  messages: LedgerMessage[];
}

/** The user of the page and their permissions. */
export interface Me {
  user: string;
  read: boolean;
  act: boolean;
  content: boolean;
}

export interface AuditRecord {
  seq: number;
  id: string;
  time: number;
  who: string;
  address?: string;
  action: string;
  target?: string;
  reason: string;
  replica?: string;
  result: string;
  detail?: string;
  hash?: string;
  prev?: string;
}

export interface AuditPage {
  records: AuditRecord[];
  next?: string | number;
}

export interface AuditVerdict {
  ok: boolean;
  records: number;
  head?: string;
  broken?: { seq: number; why: string };
}

/** An event of a session's log; texts may be replaced by their length. */
export interface LogEvent {
  type: string;
  message_id?: string;
  timestamp: string;
  data: unknown;
}
