// Uploads of this tab. Large files go in pieces, and continue after the network was lost; also after a reload, if the user gives
// the same file again.

import { createStore, type StoreApi } from "zustand/vanilla";
import { ApiError } from "../shell/api.js";
import { type FileEntry, type FilesApi, reasonOf, type UploadState } from "./api.js";
import { freePath, joinPath, safeName } from "./paths.js";

/** Files up to this size are one request. */
const wholeBytes = 512 << 10;
const pieceBytes = 1 << 20;
/** The problem of a folder, and of a file that the browser cannot read. */
export const unreadable = "unreadable";
/** The times between tries while the hub cannot be reached, in ms. */
const retryDelays = [300, 1000, 2000, 5000];
/** The uploads that run at the same time. */
const mostRunning = 3;

export interface Upload {
  readonly id: number;
  readonly name: string;
  readonly path: string;
  readonly size: number;
  readonly sent: number;
  readonly state: "waiting" | "sending" | "offline" | "done" | "failed";
  readonly problem: string;
}

export interface UploadsOptions {
  api: Pick<FilesApi, "list" | "write" | "startUpload" | "uploadState" | "sendPiece" | "cancelUpload">;
  /** Remembers unfinished uploads; the browser's storage. */
  memory: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  session: string;
  sleep?: (ms: number) => Promise<void>;
}

export class Uploads {
  readonly store: StoreApi<{ readonly uploads: readonly Upload[] }>;
  private readonly o: Required<UploadsOptions>;
  private readonly cancels = new Map<number, AbortController>();
  private readonly queue: (() => Promise<void>)[] = [];
  private running = 0;
  private last = 0;
  /** The paths that uploads of this tab will have. */
  private readonly promised = new Set<string>();

  constructor(options: UploadsOptions) {
    this.o = { sleep: (ms) => new Promise((done) => setTimeout(done, ms)), ...options };
    this.store = createStore(() => ({ uploads: [] }));
  }

  /** Uploads files into a folder. The result has the stored ones, in order. */
  async add(files: Iterable<File>, folder: string): Promise<FileEntry[]> {
    const all = [...files];
    if (all.length === 0) return [];
    const listed = await this.o.api.list().catch(() => []);
    const taken = new Set([...this.promised, ...listed.map((f) => f.path)]);
    const stored = await Promise.all(
      all.map((file) => {
        const path = freePath(joinPath(folder, safeName(file.name)), taken);
        taken.add(path);
        this.promised.add(path);
        return this.enqueue(file, path).finally(() => this.promised.delete(path));
      }),
    );
    return stored.filter((f) => f !== undefined);
  }

  /** Cancels an upload, or removes a finished one from the list. */
  cancel(id: number): void {
    this.cancels.get(id)?.abort();
    this.store.setState((s) => ({ uploads: s.uploads.filter((u) => u.id !== id) }));
  }

  /** Removes everything from the list that has ended. */
  clear(): void {
    this.store.setState((s) => ({ uploads: s.uploads.filter((u) => u.state !== "done" && u.state !== "failed") }));
  }

  private enqueue(file: File, path: string): Promise<FileEntry | undefined> {
    const id = ++this.last;
    const cancel = new AbortController();
    this.cancels.set(id, cancel);
    const upload: Upload = { id, name: file.name, path, size: file.size, sent: 0, state: "waiting", problem: "" };
    this.store.setState((s) => ({ uploads: [...s.uploads, upload] }));
    return new Promise((resolve) => {
      this.queue.push(async () => {
        try {
          const stored = cancel.signal.aborted ? undefined : await this.send(id, file, path, cancel.signal);
          if (stored !== undefined) this.change(id, { state: "done", sent: file.size, path: stored.path });
          resolve(stored);
        } catch (e) {
          this.change(id, { state: "failed", problem: reasonOf(e) });
          resolve(undefined);
        }
        this.cancels.delete(id);
      });
      this.runNext();
    });
  }

  private runNext(): void {
    while (this.running < mostRunning && this.queue.length > 0) {
      this.running++;
      void this.queue.shift()!().finally(() => {
        this.running--;
        this.runNext();
      });
    }
  }

  private change(id: number, part: Partial<Upload>): void {
    this.store.setState((s) => ({ uploads: s.uploads.map((u) => (u.id === id ? { ...u, ...part } : u)) }));
  }

  private async send(id: number, file: File, path: string, signal: AbortSignal): Promise<FileEntry | undefined> {
    this.change(id, { state: "sending" });
    // A request with such a body fails as if the hub could not be reached, and would be tried again for ever.
    if (!(await canRead(file))) throw new Error(unreadable);
    if (file.size > wholeBytes) return this.sendPieces(id, file, path, signal);
    return this.retry(id, signal, (unclear) => {
      const stored = this.o.api.write(path, file, { absent: true });
      return unclear ? stored.catch((e: unknown) => this.storedBefore(path, file.size, e)) : stored;
    });
  }

  private async sendPieces(id: number, file: File, path: string, signal: AbortSignal): Promise<FileEntry | undefined> {
    const key = `everdesk.upload.${this.o.session}.${path}.${file.size}.${file.lastModified}`;
    let upload: string | undefined;
    let stored: FileEntry | undefined;
    let signedOut = false;
    let answerLost = false;
    try {
      const begun = await this.begin(id, key, path, file.size, signal);
      if (begun === undefined) return undefined;
      const { id: current } = begun;
      upload = current;
      let { offset } = begun;
      stored = begun.file;
      while (stored === undefined) {
        this.change(id, { sent: offset, state: "sending" });
        const next = await this.retry(id, signal, async (unclear) => {
          answerLost ||= unclear;
          try {
            if (unclear) ({ offset } = await this.o.api.uploadState(current)); // the piece may have arrived
            return await this.o.api.sendPiece(current, offset, file.slice(offset, offset + pieceBytes), signal);
          } catch (e) {
            if (!answerLost) throw e;
            const before = await this.storedBefore(path, file.size, e);
            await this.drop(current); // a hub that was killed may not have ended it
            return { offset: file.size, file: before };
          }
        });
        if (next === undefined) break;
        ({ offset, file: stored } = next);
      }
      return stored;
    } catch (e) {
      signedOut = e instanceof ApiError && e.status === 401; // it can be continued after signing in
      throw e;
    } finally {
      if (!signedOut) this.o.memory.removeItem(key);
      if (!signedOut && stored === undefined && upload !== undefined) await this.drop(upload);
    }
  }

  /** Cancels an upload on the hub, which else ends it after a day. */
  private drop(upload: string): Promise<unknown> {
    return this.o.api.cancelUpload(upload).catch(() => undefined);
  }

  /** Returns the file that a request has stored whose answer was lost: this is why the next one was refused. Throws any other refusal. */
  private async storedBefore(path: string, size: number, refusal: unknown): Promise<FileEntry> {
    if (!(refusal instanceof ApiError) || (refusal.status !== 412 && refusal.status !== 404)) throw refusal;
    const stored = (await this.o.api.list()).find((f) => f.path === path && f.size === size);
    if (stored === undefined) throw refusal;
    return stored;
  }

  /**
   * Continues the upload of the same file to the same path, or begins one. What is remembered is a key that is sent with the request: the hub
   * answers a repeated request, whose first answer was lost, with the same upload.
   */
  private begin(id: number, memoryKey: string, path: string, size: number, signal: AbortSignal): Promise<UploadState | undefined> {
    let key = this.o.memory.getItem(memoryKey);
    if (key === null) {
      key = crypto.randomUUID();
      this.o.memory.setItem(memoryKey, key);
    }
    return this.retry(id, signal, () => this.o.api.startUpload(path, size, key));
  }

  /** Tries again while the hub cannot be reached. A refusal is final. `unclear` says that the hub may have executed an earlier try. */
  private async retry<T>(id: number, signal: AbortSignal, work: (unclear: boolean) => Promise<T>): Promise<T | undefined> {
    let unclear = false;
    for (let tries = 0; ; tries++) {
      if (signal.aborted) return undefined;
      try {
        return await work(unclear);
      } catch (e) {
        if (signal.aborted) return undefined;
        if (isFinal(e)) throw e;
        unclear ||= !(e instanceof ApiError) || e.status !== 429;
        this.change(id, { state: "offline" });
        await this.o.sleep(retryDelays[Math.min(tries, retryDelays.length - 1)]!);
      }
    }
  }
}

/** Whether the browser can read a file. A dropped folder is a file that it cannot read. */
async function canRead(file: File): Promise<boolean> {
  try {
    await file.slice(0, 1).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

/** Whether an error is a refusal that does not pass by itself; 507 means that there is no space. */
function isFinal(e: unknown): boolean {
  return e instanceof ApiError && (e.status < 500 || e.status === 507) && e.status !== 429;
}
