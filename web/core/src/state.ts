// What a desktop looks like at one position of its log. Values are never changed, only replaced: what is the same object
// after an event is the same thing, so whoever draws it can compare by reference.

import { zero } from "./position.js";
import type {
  AgentID,
  AgentState,
  AppID,
  ApprovalRequest,
  AutoApproval,
  Connection,
  Content,
  DialogID,
  HITLRequest,
  Layer,
  MonitorID,
  MonitorStatus,
  NoticeID,
  OpenPrompt,
  PlanState,
  Position,
  PromptID,
  QueuedMessage,
  RequestID,
  Shortcut,
  ShortcutID,
  ShownNotification,
  ShownToast,
  Todo,
  TodoID,
  UIRow,
  WindowID,
  WindowState,
} from "./wire.gen.js";

/** How much there may be of everything: the limits of package desktop. */
export const limits = {
  monitors: 4,
  windows: 100,
  dialogs: 50,
  prompts: 50,
  notifications: 100,
  toasts: 50,
  badges: 500,
  shortcuts: 200,
  agents: 64,
  queued: 200,
  rows: 200,
  rowBytes: 1 << 20,
  agentText: 1 << 20,
  todos: 50,
  requests: 20,
  /** Bytes that are kept of a plan's answer, and of what there is of one that was given up. */
  response: 32 << 10,
  available: 16 << 10,
} as const;

/** An agent with what it has said, and how many bytes that has. */
export interface Agent extends AgentState {
  text: string;
  thinking: string;
  textBytes: number;
  thinkingBytes: number;
}

/** A row of a conversation, and how many bytes count of it. */
export interface Row {
  row: UIRow;
  bytes: number;
}

export type Table<K, V> = ReadonlyMap<K, V>;

/** A desktop. */
export interface DesktopState {
  /** The position of the newest event applied. */
  readonly at: Position;
  readonly title: string;
  readonly owner: string;
  readonly provider: string;
  /** What agents may do without asking; undefined until somebody has said so. */
  readonly autoApproval: AutoApproval | undefined;
  readonly presence: readonly Connection[];
  /** How many connections there are; presence has the oldest of them. */
  readonly connections: number;
  readonly monitors: Table<MonitorID, MonitorStatus>;
  /** By `windowKey`. */
  readonly windows: Table<string, WindowState>;
  readonly dialogs: Table<DialogID, ApprovalRequest>;
  readonly prompts: Table<PromptID, OpenPrompt>;
  readonly notifications: Table<NoticeID, ShownNotification>;
  readonly toasts: Table<NoticeID, ShownToast>;
  readonly badges: Table<AppID, number>;
  readonly shortcuts: Table<ShortcutID, Shortcut>;
  readonly agents: Table<AgentID, Agent>;
  readonly queues: Table<MonitorID, readonly QueuedMessage[]>;
  readonly rows: Table<number, Row>;
  readonly rowBytes: number;
  /** The newest plan, also one that has ended. It has no id while a request stands still that there is no plan for yet. */
  readonly plan: PlanState | undefined;
  /** Where the plan is; empty when none is under way. */
  readonly layer: Layer | "";
  /** In the order of the plan. */
  readonly todos: Table<TodoID, Todo>;
  /** The open questions of the plan, the oldest first. */
  readonly requests: Table<RequestID, HITLRequest>;
}

/** The monitor that is always there. */
export const firstMonitor: MonitorID = "monitor-0";

/** The desktop of a session whose log is empty. */
export function emptyDesktop(): DesktopState {
  return {
    at: zero,
    title: "",
    owner: "",
    provider: "",
    autoApproval: undefined,
    presence: [],
    connections: 0,
    monitors: new Map([[firstMonitor, idleMonitor(firstMonitor)]]),
    windows: new Map(),
    dialogs: new Map(),
    prompts: new Map(),
    notifications: new Map(),
    toasts: new Map(),
    badges: new Map(),
    shortcuts: new Map(),
    agents: new Map(),
    queues: new Map(),
    rows: new Map(),
    rowBytes: 0,
    plan: undefined,
    layer: "",
    todos: new Map(),
    requests: new Map(),
  };
}

export function idleMonitor(monitorId: MonitorID): MonitorStatus {
  return { monitorId, state: "idle", queue: 0 };
}

/** The key of a window. Ids of monitors have no slashes, so it is not ambiguous. */
export function windowKey(monitor: MonitorID, id: WindowID): string {
  return `${monitor}/${id}`;
}

type TableName = {
  [N in keyof DesktopState]: DesktopState[N] extends ReadonlyMap<infer _, infer __> ? N : never;
}[keyof DesktopState];

/** A desktop that is being changed by one event: tables are copied when they are first written to. */
export class Draft {
  desktop: { -readonly [N in keyof DesktopState]: DesktopState[N] };
  private readonly copied = new Set<TableName>();

  constructor(desktop: DesktopState) {
    this.desktop = { ...desktop };
  }

  /** A table to write to. */
  edit<N extends TableName>(name: N): DesktopState[N] extends Table<infer K, infer V> ? Map<K, V> : never {
    if (!this.copied.has(name)) {
      this.copied.add(name);
      (this.desktop as Record<string, unknown>)[name] = new Map(this.desktop[name] as Map<unknown, unknown>);
    }
    return this.desktop[name] as never;
  }

  /** Takes a value out of a table. */
  drop<N extends TableName>(name: N, key: DesktopState[N] extends Table<infer K, unknown> ? K : never): void {
    if ((this.desktop[name] as Map<unknown, unknown>).has(key)) (this.edit(name) as Map<unknown, unknown>).delete(key);
  }

  /** Takes out what is unwanted. */
  dropIf<N extends TableName>(name: N, unwanted: (value: DesktopState[N] extends Table<unknown, infer V> ? V : never) => boolean): void {
    for (const [key, value] of [...(this.desktop[name] as Map<never, never>)]) {
      if (unwanted(value)) (this.edit(name) as Map<unknown, unknown>).delete(key);
    }
  }

  /** Says whether a monitor is there, and makes it if there is room. */
  addMonitor(id: MonitorID): boolean {
    if (this.desktop.monitors.has(id)) return true;
    if (id === "" || this.desktop.monitors.size >= limits.monitors) return false;
    this.edit("monitors").set(id, idleMonitor(id));
    return true;
  }
}

/** The value of a table that comes before all others in an order. */
export function firstOf<V>(table: ReadonlyMap<unknown, V>, order: (a: V, b: V) => number): V | undefined {
  let best: V | undefined;
  for (const v of table.values()) if (best === undefined || order(v, best) < 0) best = v;
  return best;
}

/** What a window shows when it shows nothing. */
export const noContent: Content = { renderer: "text", data: "" };
