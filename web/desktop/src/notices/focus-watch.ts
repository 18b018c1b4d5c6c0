// Whether the session has the focus in any tab of this browser. A tab asks the others just before a notification.

import type { Channel } from "../../../core/src/index.js";

/** How long the other tabs have to answer, in ms. */
const answerTimeout = 1_000;

type WatchMessage = "who looks?" | "I do";

export class FocusWatch {
  private readonly channel: Channel;
  private readonly hasFocus: () => boolean;
  private answers = 0;

  constructor(channel: Channel, looking: () => boolean) {
    this.channel = channel;
    this.hasFocus = looking;
    channel.onmessage = (e: { data: WatchMessage }) => this.handleMessage(e.data);
  }

  /** Whether no tab has the focus. */
  async isUnfocused(): Promise<boolean> {
    if (this.hasFocus()) return false;
    const before = this.answers;
    this.channel.postMessage("who looks?" satisfies WatchMessage);
    await new Promise((done) => setTimeout(done, answerTimeout));
    return this.answers === before && !this.hasFocus();
  }

  close(): void {
    this.channel.close();
  }

  private handleMessage(message: WatchMessage): void {
    if (message === "I do") this.answers++;
    else if (message === "who looks?" && this.hasFocus()) this.channel.postMessage("I do" satisfies WatchMessage);
  }
}
