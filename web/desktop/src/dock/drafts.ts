// What is typed and not sent, shared by all tabs of the browser. There is one book of it for a page.

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

/** The book of a page. */
function bookOf(commands: Commands): DraftBook {
  const book = books.get(commands) ?? new DraftBook();
  books.set(commands, book);
  return book;
}

/** The draft for a monitor, and a way to change it. */
export function useDraft(monitor: MonitorID): [string, (text: string) => void] {
  const book = bookOf(useCommands());
  const key = useShell((s) => s.session) + "/" + monitor;
  const text = useSyncExternalStore(book.watch, () => book.get(key));
  return [text, useCallback((next: string) => book.set(key, next), [book, key])];
}

/** A way to put a text back into the command bar, before what is there, and to go there. */
export function usePutBack(monitor: MonitorID): (text: string) => void {
  const book = bookOf(useCommands());
  const key = useShell((s) => s.session) + "/" + monitor;
  return (text) => {
    const now = book.get(key);
    book.set(key, now.trim() === "" || now === text ? text : `${text}\n${now}`);
    focusCommandBar();
  };
}

/** Puts the focus into the command bar, behind what is typed there. */
export function focusCommandBar(): void {
  const bar = document.querySelector<HTMLTextAreaElement>("[data-command-bar]");
  bar?.focus();
  bar?.setSelectionRange(bar.value.length, bar.value.length);
}
