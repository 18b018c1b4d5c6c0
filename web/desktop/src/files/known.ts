// The files of the session, as this page knows them: read once when something needs them, then kept up to date by events.

import { useContext, useSyncExternalStore } from "react";
import type { HubEvent } from "../../../core/src/index.js";
import type { Page } from "../shell/boot.js";
import { PageContext } from "../shell/context.js";
import { type FileEntry, FilesApi } from "./api.js";

export interface KnownFiles {
  readonly files: readonly FileEntry[];
  /** Whether the list was read. */
  readonly ready: boolean;
  /** Why it could not be read; "" if it could. */
  readonly problem: string;
}

const nothing: KnownFiles = { files: [], ready: false, problem: "" };

/** How long after an event the list is read, in ms: agents write several files at once. */
const readDelay = 60;

export class FileList {
  readonly api: FilesApi;
  private state = nothing;
  private reads = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly watchers = new Set<() => void>();

  constructor(page: Page) {
    this.api = new FilesApi(page.store.getState().session);
    page.listen((e: HubEvent) => {
      if (e.type === "FILES_CHANGED" || e.type === "session_state") this.readSoon();
    });
    void this.read();
  }

  get = (): KnownFiles => this.state;

  watch = (changed: () => void): (() => void) => {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  };

  readSoon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.read();
    }, readDelay);
  }

  async read(): Promise<void> {
    const read = ++this.reads;
    try {
      const files = await this.api.list();
      if (read === this.reads) this.set({ files, ready: true, problem: "" });
    } catch (e) {
      if (read === this.reads) this.set({ ...this.state, problem: e instanceof Error ? e.message : String(e) });
    }
  }

  private set(state: KnownFiles): void {
    this.state = state;
    for (const changed of this.watchers) changed();
  }
}

const lists = new WeakMap<Page, FileList>();

/** The list of a page. */
export function listOf(page: Page): FileList {
  const list = lists.get(page) ?? new FileList(page);
  lists.set(page, list);
  return list;
}

const noWatch = (): (() => void) => () => undefined;
const getNothing = (): KnownFiles => nothing;

/** The files of the session. Outside of a page there are none. */
export function useKnownFiles(): KnownFiles {
  const page = useContext(PageContext);
  const list = page === undefined ? undefined : listOf(page);
  return useSyncExternalStore(list?.watch ?? noWatch, list?.get ?? getNothing);
}
