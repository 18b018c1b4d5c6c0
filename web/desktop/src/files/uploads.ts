// Uploads of this tab. Large files go in pieces, and continue after the network was lost; also after a reload, if the user gives
// the same file again.

import { createStore, type StoreApi } from "zustand/vanilla";
import { ApiError } from "../shell/api.js";
import { type FileEntry, type FilesApi, reasonOf, type UploadState } from "./api.js";
import { freePath, joinPath, safeName } from "./paths.js";

/** Files up to this size are one request. */
const wholeBytes = 512 << 10;
const pieceBytes = 1 << 20;
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
    const taken = new Set<string>(this.promised);
    for (const f of await this.o.api.list().catch(() => [])) taken.add(f.path);
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
    if (file.size <= wholeBytes) return this.retry(id, signal, () => this.o.api.write(path, file, { absent: true }));
    const key = `everdesk.upload.${this.o.session}.${file.name}.${file.size}.${file.lastModified}`;
    let state = await this.begin(id, key, path, file.size, signal);
    while (state !== undefined && state.file === undefined) {
      const { id: upload, offset } = state;
      this.change(id, { sent: offset, state: "sending" });
      if (signal.aborted) break;
      // After a failure the state shows how much has arrived: the piece itself may have, before its answer was lost.
      let broken = false;
      state = await this.retry(id, signal, async () => {
        const now: UploadState = broken ? await this.o.api.uploadState(upload) : { ...state!, offset };
        broken = true;
        return this.o.api.sendPiece(upload, now.offset, file.slice(now.offset, now.offset + pieceBytes), signal);
      });
    }
    this.o.memory.removeItem(key);
    if (signal.aborted && state !== undefined && state.file === undefined) await this.o.api.cancelUpload(state.id).catch(() => undefined);
    return state?.file;
  }

  /** Continues the upload of the same file, or begins one. */
  private async begin(id: number, key: string, path: string, size: number, signal: AbortSignal): Promise<UploadState | undefined> {
    const known = this.o.memory.getItem(key);
    if (known !== null) {
      const before = await this.o.api.uploadState(known).catch(() => undefined);
      if (before !== undefined && before.size === size) return before;
    }
    const begun = await this.retry(id, signal, () => this.o.api.startUpload(path, size));
    if (begun !== undefined) this.o.memory.setItem(key, begun.id);
    return begun;
  }

  /** Tries again while the hub cannot be reached. A refusal is final. */
  private async retry<T>(id: number, signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
    for (let tries = 0; ; tries++) {
      if (signal.aborted) return undefined;
      try {
        return await work();
      } catch (e) {
        if (signal.aborted) return undefined;
        if (e instanceof ApiError && e.status < 500 && e.status !== 429) throw e;
        this.change(id, { state: "offline" });
        await this.o.sleep(retryDelays[Math.min(tries, retryDelays.length - 1)]!);
      }
    }
  }
}
