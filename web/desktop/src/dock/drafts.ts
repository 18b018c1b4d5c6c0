// The drafts of the command bar, shared by all tabs of the browser. A page has one DraftBook.

import { useCallback, useSyncExternalStore } from "react";
import { Drafts, type MonitorID } from "../../../core/src/index.js";
import type { Commands } from "../shell/commands.js";
import { useCommands, useShell } from "../shell/context.js";
import { forBrowser } from "../shell/storage.js";

export class DraftBook {
  private readonly drafts: Drafts;
  private readonly watchers = new Set<() => void>();

  constructor() {
    this.drafts = new Drafts({
      tab: crypto.getRandomValues(new Uint32Array(2)).join("-"),
      channel: new BroadcastChannel("everdesk.drafts"),
      now: () => Date.now(),
      storage: forBrowser,
      onDraft: () => this.notifyListeners(),
    });
  }

  get(key: string): string {
    return this.drafts.get(key);
  }

  set(key: string, text: string): void {
    if (this.get(key) === text) return;
    this.drafts.set(key, text);
    this.notifyListeners();
  }

  watch = (changed: () => void): (() => void) => {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  };

  private notifyListeners(): void {
    for (const changed of this.watchers) changed();
  }
}

const books = new WeakMap<Commands, DraftBook>();

/** The DraftBook of a page. */
function bookOf(commands: Commands): DraftBook {
  const book = books.get(commands) ?? new DraftBook();
  books.set(commands, book);
  return book;
}

/** The draft of a monitor and its setter. */
export function useDraft(monitor: MonitorID): [string, (text: string) => void] {
  const book = bookOf(useCommands());
  const key = useShell((s) => s.session) + "/" + monitor;
  const text = useSyncExternalStore(book.watch, () => book.get(key));
  return [text, useCallback((next: string) => book.set(key, next), [book, key])];
}

/** Returns a function that inserts a text before the draft and focuses the command bar. */
export function usePutBack(monitor: MonitorID): (text: string) => void {
  const book = bookOf(useCommands());
  const key = useShell((s) => s.session) + "/" + monitor;
  return (text) => {
    const now = book.get(key);
    book.set(key, now.trim() === "" || now === text ? text : `${text}\n${now}`);
    focusCommandBar();
  };
}

/** Focuses the command bar with the caret at the end. */
export function focusCommandBar(): void {
  const bar = document.querySelector<HTMLTextAreaElement>("[data-command-bar]");
  bar?.focus();
  bar?.setSelectionRange(bar.value.length, bar.value.length);
}
