// Whether somebody looks at the session in any tab of this browser. Tabs ask each other just before a notification.

import type { Channel } from "../../../core/src/index.js";

/** How long the other tabs have for an answer, in ms. */
const answerTimeout = 1_000;

type WatchMessage = "who looks?" | "I do";

export class Watch {
  private readonly channel: Channel;
  private readonly looking: () => boolean;
  private seen = 0;

  constructor(channel: Channel, looking: () => boolean) {
    this.channel = channel;
    this.looking = looking;
    channel.onmessage = (e: { data: WatchMessage }) => this.handleMessage(e.data);
  }

  /** Whether nobody looks. */
  async unwatched(): Promise<boolean> {
    if (this.looking()) return false;
    const before = this.seen;
    this.channel.postMessage("who looks?" satisfies WatchMessage);
    await new Promise((done) => setTimeout(done, answerTimeout));
    return this.seen === before && !this.looking();
  }

  close(): void {
    this.channel.close();
  }

  private handleMessage(word: WatchMessage): void {
    if (word === "I do") this.seen++;
    else if (word === "who looks?" && this.looking()) this.channel.postMessage("I do" satisfies WatchMessage);
  }
}
