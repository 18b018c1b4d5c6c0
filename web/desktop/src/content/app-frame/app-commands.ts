// Commands that the page itself sends to apps, such as for opening a file. They wait until the app can take them.

import type { MonitorID } from "../../../../core/src/index.js";

export interface AppCommand {
  readonly app: string;
  readonly monitor: MonitorID;
  readonly command: string;
  readonly params: unknown;
  /** Called when the app refused it, or did not take it in time. */
  readonly onFailed: (reason: string) => void;
}

/** How long a command waits for its app, in ms. */
const takeTimeout = 20_000;

export class AppCommands {
  private waiting: readonly AppCommand[] = [];
  private readonly watchers = new Set<() => void>();

  /** Queues a command for the window of an app in this tab. */
  send(c: AppCommand): void {
    this.waiting = [...this.waiting, c];
    setTimeout(() => {
      if (!this.waiting.includes(c)) return;
      this.waiting = this.waiting.filter((other) => other !== c);
      c.onFailed("the app did not answer in time");
    }, takeTimeout);
    for (const changed of this.watchers) changed();
  }

  /** Removes and returns the commands for an app on a monitor. */
  take(app: string, monitor: MonitorID): readonly AppCommand[] {
    const mine = this.waiting.filter((c) => c.app === app && c.monitor === monitor);
    if (mine.length > 0) this.waiting = this.waiting.filter((c) => !mine.includes(c));
    return mine;
  }

  watch(changed: () => void): () => void {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  }
}

const all = new WeakMap<object, AppCommands>();

/** The commands of a page. */
export function appCommandsOf(page: object): AppCommands {
  const commands = all.get(page) ?? new AppCommands();
  all.set(page, commands);
  return commands;
}
