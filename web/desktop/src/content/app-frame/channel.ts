// The desktop's end of the port to an app. What comes through it is bounded in number, size and form.

import type { Answered, Asked, Told } from "../../../../apps/protocol.js";
import { flood, Rate, readSaid } from "./rules.js";

/** How many messages a frame may send in a second. */
const perSecond = 20;

/** How long an app may take to answer. */
const answerTime = 5000;

export interface ChannelOptions {
  now: () => number;
  hear: (told: Told) => void;
  /** The app sent so much that it is not heard any more. */
  onFlood: () => void;
}

/** What a channel needs of a MessagePort. */
export type Port = Pick<MessagePort, "postMessage" | "close"> & { onmessage: ((e: MessageEvent) => void) | null };

export class Channel {
  private readonly port: Port;
  private readonly o: ChannelOptions;
  private readonly rate = new Rate(perSecond);
  private readonly waiting = new Map<string, (a: Answered) => void>();

  constructor(port: Port, o: ChannelOptions) {
    this.port = port;
    this.o = o;
    port.onmessage = (e) => this.handleMessage(e.data);
  }

  /** Asks the app. One that does not answer in time gives an error. */
  ask(asked: Asked, ms = answerTime): Promise<Answered> {
    const type = asked.type.replace("-request", "-response") as Answered["type"];
    const { requestId } = asked;
    return new Promise((resolve) => {
      const end = (a: Answered): void => {
        clearTimeout(timer);
        this.waiting.delete(requestId);
        resolve(a);
      };
      const timer = setTimeout(() => end({ type, requestId, error: "the app did not answer in time" }), ms);
      this.waiting.set(requestId, (a) => a.type === type && end(a));
      this.port.postMessage(JSON.stringify(asked));
    });
  }

  close(): void {
    this.port.onmessage = null;
    this.port.close();
  }

  private handleMessage(data: unknown): void {
    if (!this.rate.take(this.o.now())) {
      if (this.rate.dropped < flood) return;
      this.close();
      this.o.onFlood();
      return;
    }
    const said = readSaid(data);
    if (said === undefined) return;
    if ("requestId" in said) this.waiting.get(said.requestId)?.(said);
    else this.o.hear(said);
  }
}
