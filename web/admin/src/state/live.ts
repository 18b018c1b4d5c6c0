// The push of the hub. A connection that is lost is made again, and then everything comes anew. Browsers make
// connections again by themselves, but not those that the hub refused, and they say of neither why.

export type Link = "connecting" | "live" | "reconnecting";

/** What is used of an EventSource. */
export interface Source {
  onopen: ((e: Event) => void) | null;
  onerror: ((e: Event) => void) | null;
  addEventListener(type: string, hear: (e: MessageEvent<string>) => void): void;
  close(): void;
}

export interface LiveState {
  readonly address: string;
  /** The kinds of events to hear. */
  readonly kinds: readonly string[];
  readonly hear: (kind: string, data: unknown, id: string) => void;
  readonly link: (link: Link) => void;
  /** A connection was lost; asked before it is made again. False gives up. */
  readonly lost: () => Promise<boolean>;
  /** The address of the next connection, where it is another. */
  readonly next?: () => string;
}

const firstWait = 500;
const longestWait = 5000;

/** Listens until the function it gives is called. */
export function listen(to: LiveState, open: (address: string) => Source = (a) => new EventSource(a)): () => void {
  let source: Source | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wait = firstWait;
  let over = false;
  const begin = (address: string): void => {
    const mine = open(address);
    source = mine;
    mine.onopen = () => {
      wait = firstWait;
      to.link("live");
    };
    mine.onerror = () => {
      mine.close();
      if (over || source !== mine) return;
      to.link("reconnecting");
      timer = setTimeout(() => void again(), wait);
      wait = Math.min(longestWait, wait * 2);
    };
    for (const kind of to.kinds) {
      mine.addEventListener(kind, (e) => {
        const data = parsed(e.data);
        if (!over && source === mine && data !== undefined) to.hear(kind, data, e.lastEventId);
      });
    }
  };
  const again = async (): Promise<void> => {
    if ((await to.lost()) && !over) begin(to.next?.() ?? to.address);
  };
  to.link("connecting");
  begin(to.address);
  return () => {
    over = true;
    clearTimeout(timer);
    source?.close();
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
