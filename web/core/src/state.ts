// The desktop state at one position of the log. Values are immutable: an object that is identical after an event is unchanged,
// so views compare by reference.

import { zero } from "./position.js";
import type {
  AgentID,
  AgentMode,
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

/** The limits of the Go package desktop. */
export const limits = {
  monitors: 4,
  windows: 100,
  cells: 500,
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
  /** The largest response of a plan, and partial response of a cancelled one, in bytes. */
  response: 32 << 10,
  available: 16 << 10,
} as const;

/** An agent with its texts and their sizes in bytes. */
export interface Agent extends AgentState {
  text: string;
  thinking: string;
  textBytes: number;
  thinkingBytes: number;
}

/** A row of a conversation and the bytes that count towards the limit. */
export interface Row {
  row: UIRow;
  bytes: number;
}

export type Table<K, V> = ReadonlyMap<K, V>;

/** The desktop state, folded from the log. */
export interface DesktopState {
  /** The position of the last applied event. */
  readonly at: Position;
  readonly title: string;
  readonly owner: string;
  readonly provider: string;
  /** The auto-approval rules of the session; undefined while it follows the default of its user. */
  readonly autoApproval: AutoApproval | undefined;
  /** The mode of the agents, and the custom instructions of the session. */
  readonly agentMode: AgentMode | undefined;
  readonly instructions: string;
  readonly presence: readonly Connection[];
  /** The number of connections; presence lists the oldest of them. */
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
  /** The newest plan, which may have ended. Its id is empty while a request is paused before its plan was generated. */
  readonly plan: PlanState | undefined;
  /** The current layer of the plan; empty if no plan is active. */
  readonly layer: Layer | "";
  /** The todos in plan order. */
  readonly todos: Table<TodoID, Todo>;
  /** The open questions of the plan, oldest first. */
  readonly requests: Table<RequestID, HITLRequest>;
}

/** The monitor that every session has. */
export const firstMonitor: MonitorID = "monitor-0";

/** The desktop state of an empty log. */
export function emptyDesktop(): DesktopState {
  return {
    at: zero,
    title: "",
    owner: "",
    provider: "",
    autoApproval: undefined,
    agentMode: undefined,
    instructions: "",
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

/** The key of a window. It is unambiguous because monitor ids contain no slashes. */
export function windowKey(monitor: MonitorID, id: WindowID): string {
  return `${monitor}/${id}`;
}

type TableName = {
  [N in keyof DesktopState]: DesktopState[N] extends ReadonlyMap<infer _, infer __> ? N : never;
}[keyof DesktopState];

/** A desktop state under change by one event. Tables are copied on the first write. */
export class Draft {
  desktop: { -readonly [N in keyof DesktopState]: DesktopState[N] };
  private readonly copied = new Set<TableName>();

  constructor(desktop: DesktopState) {
    this.desktop = { ...desktop };
  }

  /** Returns a writable copy of a table. */
  edit<N extends TableName>(name: N): DesktopState[N] extends Table<infer K, infer V> ? Map<K, V> : never {
    if (!this.copied.has(name)) {
      this.copied.add(name);
      (this.desktop as Record<string, unknown>)[name] = new Map(this.desktop[name] as Map<unknown, unknown>);
    }
    return this.desktop[name] as never;
  }

  /** Removes a value from a table. */
  drop<N extends TableName>(name: N, key: DesktopState[N] extends Table<infer K, unknown> ? K : never): void {
    if ((this.desktop[name] as Map<unknown, unknown>).has(key)) (this.edit(name) as Map<unknown, unknown>).delete(key);
  }

  /** Removes the values that match. */
  dropIf<N extends TableName>(name: N, unwanted: (value: DesktopState[N] extends Table<unknown, infer V> ? V : never) => boolean): void {
    for (const [key, value] of [...(this.desktop[name] as Map<never, never>)]) {
      if (unwanted(value)) (this.edit(name) as Map<unknown, unknown>).delete(key);
    }
  }

  /** Adds a monitor if it is new and the limit allows. Returns whether it exists. */
  addMonitor(id: MonitorID): boolean {
    if (this.desktop.monitors.has(id)) return true;
    if (id === "" || this.desktop.monitors.size >= limits.monitors) return false;
    this.edit("monitors").set(id, idleMonitor(id));
    return true;
  }
}

/** The smallest value of a table by an order. */
export function firstOf<V>(table: ReadonlyMap<unknown, V>, order: (a: V, b: V) => number): V | undefined {
  let best: V | undefined;
  for (const v of table.values()) if (best === undefined || order(v, best) < 0) best = v;
  return best;
}

/** The content of a window without content. */
export const noContent: Content = { renderer: "text", data: "" };
