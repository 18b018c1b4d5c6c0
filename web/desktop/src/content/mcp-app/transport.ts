// The JSON-RPC connection to a view, over the message port of its frame. It limits the number and size of the view's
// messages.

import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { Port } from "../app-frame/channel.js";
import { floodLimit, Rate } from "../app-frame/rules.js";

/** The number of messages that a view may send per second. Maps and charts report more than apps do. */
const maxPerSecond = 100;

/** The maximum length of a message, in characters. */
export const maxViewMessage = 2 << 20;

export interface TransportOptions {
  now: () => number;
  /** The document is loaded. */
  onShown: () => void;
  /** The user clicked a link. */
  onLeave: (url: string) => void;
  /** Called when the view sent too many messages; the port is closed then. */
  onFlood: () => void;
}

export class PortTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  private readonly port: Port;
  private readonly o: TransportOptions;
  private readonly rate = new Rate(maxPerSecond);

  constructor(port: Port, o: TransportOptions) {
    this.port = port;
    this.o = o;
  }

  async start(): Promise<void> {
    this.port.onmessage = (e) => this.handleMessage(e.data);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.port.postMessage(JSON.stringify(message));
  }

  async close(): Promise<void> {
    this.port.onmessage = null;
    this.port.close();
    this.onclose?.();
  }

  private handleMessage(data: unknown): void {
    if (!this.rate.allow(this.o.now())) {
      if (this.rate.dropped < floodLimit) return;
      void this.close();
      this.o.onFlood();
      return;
    }
    const message = parseViewMessage(data);
    if (message === undefined) return;
    if ("jsonrpc" in message) this.onmessage?.(message as JSONRPCMessage);
    else if (message.type === "everdesk:shown") this.o.onShown();
    else if (message.type === "everdesk:leave" && typeof message.url === "string") this.o.onLeave(message.url.slice(0, 4096));
  }
}

/** Parses a message of the frame; undefined if it is none. The bridge checks the fields of its messages. */
export function parseViewMessage(data: unknown): Record<string, unknown> | undefined {
  if (typeof data !== "string" || data.length > maxViewMessage) return undefined;
  try {
    const message: unknown = JSON.parse(data);
    return typeof message === "object" && message !== null && !Array.isArray(message) ? (message as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
