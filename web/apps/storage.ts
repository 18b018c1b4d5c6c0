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
  let running: { number: number; call: Call; timer: ReturnType<typeof setTimeout> } | undefined;
  let last = 0;
  let paused = false;

  const next = (): void => {
    if (running !== undefined || paused) return;
    const call = waiting.shift();
    if (call === undefined) return;
    const number = ++last;
    const timer = setTimeout(() => end(number, undefined, "the desktop did not answer in time"), timeout);
    running = { number, call, timer };
    paused = true;
    setTimeout(() => {
      paused = false;
      next();
    }, interval);
    send({ type: "everdesk:storage", call: number, op: call.op, name: call.name, text: call.text });
  };
  const end = (number: number, value: Value, error?: string): void => {
    if (running?.number !== number) return;
    const { call, timer } = running;
    clearTimeout(timer);
    running = undefined;
    for (const s of call.settle) error === undefined ? s.resolve(value) : s.reject(new Error(error));
    next();
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
      if (m.type === "everdesk:storage-result") end(m.call, m.value, m.error);
      else for (const handler of handlers) handler(m.name);
    },
  };
}
