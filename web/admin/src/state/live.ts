// The event stream of the hub. After a lost connection it connects again, and the hub sends the whole state. It does
// not rely on the reconnection of EventSource, which stops when the hub refuses a connection and reports no reason.

export type Link = "connecting" | "live" | "reconnecting";

/** The part of an EventSource that is used. */
export interface EventStream {
  onopen: ((e: Event) => void) | null;
  onerror: ((e: Event) => void) | null;
  addEventListener(type: string, listener: (e: MessageEvent<string>) => void): void;
  close(): void;
}

export interface SubscribeOptions {
  readonly address: string;
  /** The kinds of events to receive. */
  readonly kinds: readonly string[];
  readonly onEvent: (kind: string, data: unknown, id: string) => void;
  readonly onLink: (link: Link) => void;
  /** Called after a lost connection, before the next attempt; false stops. */
  readonly shouldReconnect: () => Promise<boolean>;
  /** The address of the next connection, if it differs. */
  readonly nextAddress?: () => string;
}

const minDelay = 500;
const maxDelay = 5000;

/** Subscribes to the stream until the returned function is called. */
export function subscribe(options: SubscribeOptions, open: (address: string) => EventStream = (a) => new EventSource(a)): () => void {
  let source: EventStream | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wait = minDelay;
  let stopped = false;
  const connect = (address: string): void => {
    const current = open(address);
    source = current;
    current.onopen = () => {
      wait = minDelay;
      options.onLink("live");
    };
    current.onerror = () => {
      current.close();
      if (stopped || source !== current) return;
      options.onLink("reconnecting");
      timer = setTimeout(() => void reconnect(), wait);
      wait = Math.min(maxDelay, wait * 2);
    };
    for (const kind of options.kinds) {
      current.addEventListener(kind, (e) => {
        const data = parseJSON(e.data);
        if (!stopped && source === current && data !== undefined) options.onEvent(kind, data, e.lastEventId);
      });
    }
  };
  const reconnect = async (): Promise<void> => {
    if ((await options.shouldReconnect()) && !stopped) connect(options.nextAddress?.() ?? options.address);
  };
  options.onLink("connecting");
  connect(options.address);
  return () => {
    stopped = true;
    clearTimeout(timer);
    source?.close();
  };
}

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
