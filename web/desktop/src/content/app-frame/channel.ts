// The desktop's end of the message port to an app. It limits the number, size and form of the app's messages.

import type { PageMessage, PageRequest, PageResponse, StorageMessage } from "../../../../apps/protocol.js";
import { floodLimit, parseAppMessage, Rate } from "./rules.js";

/** The number of messages that a frame may send per second. */
const maxPerSecond = 20;

/** How long an app may take to answer, in ms. */
const answerTimeout = 5000;

export interface ChannelOptions {
  now: () => number;
  onMessage: (told: PageMessage) => void;
  /** Called when the app sent too many messages; the port is closed then. */
  onFlood: () => void;
}

/** The part of a MessagePort that a channel uses. */
export type Port = Pick<MessagePort, "postMessage" | "close"> & { onmessage: ((e: MessageEvent) => void) | null };

export class Channel {
  private readonly port: Port;
  private readonly o: ChannelOptions;
  private readonly rate = new Rate(maxPerSecond);
  private readonly waiting = new Map<string, (a: PageResponse) => void>();

  constructor(port: Port, o: ChannelOptions) {
    this.port = port;
    this.o = o;
    port.onmessage = (e) => this.handleMessage(e.data);
  }

  /** Sends a request to the app. The response has an error if the app does not answer in time. */
  sendRequest(asked: PageRequest, ms = answerTimeout): Promise<PageResponse> {
    const type = asked.type.replace("-request", "-response") as PageResponse["type"];
    const { requestId } = asked;
    return new Promise((resolve) => {
      const end = (a: PageResponse): void => {
        clearTimeout(timer);
        this.waiting.delete(requestId);
        resolve(a);
      };
      const timer = setTimeout(() => end({ type, requestId, error: "the app did not answer in time" }), ms);
      this.waiting.set(requestId, (a) => a.type === type && end(a));
      this.port.postMessage(JSON.stringify(asked));
    });
  }

  /** Sends a message to the app that has no response. */
  send(message: StorageMessage): void {
    this.port.postMessage(JSON.stringify(message));
  }

  close(): void {
    this.port.onmessage = null;
    this.port.close();
  }

  private handleMessage(data: unknown): void {
    if (!this.rate.allow(this.o.now())) {
      if (this.rate.dropped < floodLimit) return;
      this.close();
      this.o.onFlood();
      return;
    }
    const message = parseAppMessage(data);
    if (message === undefined) return;
    if ("requestId" in message) this.waiting.get(message.requestId)?.(message);
    else this.o.onMessage(message);
  }
}
