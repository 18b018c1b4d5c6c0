// The storage of an app in its page: `yaar.storage`. Calls go through the port to the desktop, one after the other and not
// too often, because the desktop limits the messages of a page.

import type { StorageMessage, StorageOperation, StorageRequest } from "./protocol.js";

/** The least time between two calls, in ms. */
const interval = 70;

/** How long the desktop may take to answer, in ms. */
const timeout = 20_000;

type Value = string | string[] | null | undefined;

interface Call {
  op: StorageOperation;
  name: string;
  text: string;
  /** The call only finds out whether the file has changed. */
  peeks?: boolean;
  settle: { resolve: (v: Value) => void; reject: (e: Error) => void }[];
}

/** The object that apps use. */
export interface AppStorage {
  read(name: string): Promise<string | null>;
  save(name: string, text: string): Promise<void>;
  list(): Promise<string[]>;
  remove(name: string): Promise<void>;
  onChange(handler: (name: string) => void): void;
}

/** Creates the storage of an app. `handle` takes the messages of the desktop. */
export function createStorage(send: (request: StorageRequest) => void): { storage: AppStorage; handle: (m: StorageMessage) => void } {
  const waiting: Call[] = [];
  const handlers: ((name: string) => void)[] = [];
  // The versions of files as the app has read or written them last; null if there was none.
  const known = new Map<string, string | null>();
  let running: { number: number; call: Call; timer: ReturnType<typeof setTimeout> } | undefined;
  let last = 0;
  let paused = false;

  const next = (): void => {
    if (running !== undefined || paused) return;
    const call = waiting.shift();
    if (call === undefined) return;
    const number = ++last;
    const timer = setTimeout(() => end(number, { error: "there was no answer in time" }), timeout);
    running = { number, call, timer };
    paused = true;
    setTimeout(() => {
      paused = false;
      next();
    }, interval);
    const version = call.op === "save" ? known.get(call.name) : undefined;
    send({ type: "everdesk:storage", call: number, op: call.op, name: call.name, text: call.text, ...(version === undefined ? {} : { version }) });
  };
  const notify = (name: string): void => {
    for (const handler of handlers) handler(name);
  };
  const end = (number: number, r: { value?: Value; version?: string | null; error?: string; conflict?: boolean }): void => {
    if (running?.number !== number) return;
    const { call, timer } = running;
    clearTimeout(timer);
    running = undefined;
    if (call.peeks) {
      if (r.error === undefined && r.version !== known.get(call.name)) notify(call.name);
    } else if (r.error === undefined && r.version !== undefined) {
      known.set(call.name, r.version);
    }
    for (const s of call.settle) r.error === undefined ? s.resolve(r.value) : s.reject(failure(r.error, r.conflict));
    // An app that does not read the newer text cannot overwrite it.
    if (r.conflict) notify(call.name);
    next();
  };
  const check = (name: string): void => {
    if (name === "" && known.size > 0) for (const one of known.keys()) check(one);
    else if (!known.has(name)) notify(name);
    else if (!waiting.some((c) => c.peeks && c.name === name)) {
      waiting.push({ op: "read", name, text: "", peeks: true, settle: [] });
      next();
    }
  };
  const ask = (op: StorageOperation, name: string, text = ""): Promise<Value> =>
    new Promise((resolve, reject) => {
      // Of several texts for one file that wait, only the newest is written.
      const same = op === "save" ? waiting.find((c) => c.op === "save" && c.name === name) : undefined;
      if (same !== undefined && waiting.at(-1) === same) {
        same.text = text;
        same.settle.push({ resolve, reject });
        return;
      }
      waiting.push({ op, name, text, settle: [{ resolve, reject }] });
      next();
    });
  return {
    storage: {
      read: async (name) => (await ask("read", String(name))) as string | null,
      save: async (name, text) => void (await ask("save", String(name), typeof text === "string" ? text : JSON.stringify(text))),
      list: async () => (await ask("list", "")) as string[],
      remove: async (name) => void (await ask("remove", String(name))),
      onChange: (handler) => void handlers.push(handler),
    },
    handle(m) {
      if (m.type === "everdesk:storage-result") end(m.call, m);
      else check(m.name);
    },
  };
}

function failure(text: string, conflict?: boolean): Error {
  const e = new Error(text);
  if (conflict) e.name = "ConflictError";
  return e;
}
