// A model whose answer lasts until the test ends it, so that a test can act in the middle of an answer at its own
// speed. It implements the part of the Messages API that a hub needs.

import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Slow enough for an answer of two minutes to stay small, fast enough for words to arrive while a page loads. */
const wordsPerSecond = 30;

export class EndlessModel {
  /** The number of words sent so far, in all answers. */
  words = 0;
  private readonly server: Server;
  private readonly open = new Map<ServerResponse, ReturnType<typeof setInterval>>();

  private constructor(server: Server) {
    this.server = server;
  }

  static async start(): Promise<EndlessModel> {
    const server = createServer((_, answer) => model.begin(answer));
    const model = new EndlessModel(server);
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return model;
  }

  /** The flags of a hub that uses this model. */
  get flags(): string[] {
    const url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return ["--provider", "anthropic", "--anthropic-key", "none", "--anthropic-url", url];
  }

  /** Completes all open answers. */
  finish(): void {
    for (const [answer, timer] of this.open) {
      clearInterval(timer);
      send(answer, { type: "content_block_stop", index: 0 });
      send(answer, { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: this.words } });
      send(answer, { type: "message_stop" });
      answer.end();
    }
    this.open.clear();
  }

  stop(): void {
    this.finish();
    this.server.closeAllConnections();
    this.server.close();
  }

  private begin(answer: ServerResponse): void {
    answer.writeHead(200, { "content-type": "text/event-stream" });
    send(answer, { type: "message_start", message: { id: "msg_endless", type: "message", role: "assistant", content: [], usage: { input_tokens: 1, output_tokens: 1 } } });
    send(answer, { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
    const timer = setInterval(() => {
      send(answer, { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: `w${++this.words} ` } });
    }, 1000 / wordsPerSecond);
    this.open.set(answer, timer);
    answer.on("close", () => {
      clearInterval(timer);
      this.open.delete(answer);
    });
  }
}

function send(answer: ServerResponse, event: { type: string; [field: string]: unknown }): void {
  answer.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}
