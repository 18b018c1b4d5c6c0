// A recording proxy in front of the fake model API.

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Program } from "./process.js";

const run = promisify(execFile);
const top = fileURLToPath(new URL("../../..", import.meta.url));

/** A message of a request, with each of its blocks as one line of text. */
export interface ModelMessage {
  role: string;
  blocks: string[];
}

interface Block {
  type: string;
  text?: string;
  name?: string;
  input?: unknown;
  content?: string | Block[];
}

export class Model {
  /** The recorded requests, the oldest first; each has the whole conversation. */
  readonly requests: ModelMessage[][] = [];
  private readonly server: Server;
  private readonly program: Program;
  private readonly folder: string;

  private constructor(server: Server, program: Program, folder: string) {
    this.server = server;
    this.program = program;
    this.folder = folder;
  }

  static async start(): Promise<Model> {
    const folder = await mkdtemp(join(tmpdir(), "everdesk-e2e-model-"));
    const binary = join(folder, "serve");
    await run("go", ["build", "-o", binary, "./providers/fakemodel/serve"], { cwd: top, env: { ...process.env, CGO_ENABLED: "0" } });
    const program = new Program(binary, ["-listen", "127.0.0.1:0"], folder);
    const backend = (await program.waitForOutput(/ANTHROPIC_BASE_URL=(\S+)/))[1]!;
    const server = createServer((incoming, answer) => void model.forward(backend, incoming, answer));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const model = new Model(server, program, folder);
    return model;
  }

  /** The address of the API, without a path. */
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The flags of a hub that uses this model. */
  get flags(): string[] {
    return ["--provider", "anthropic", "--anthropic-key", "none", "--anthropic-url", this.url];
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await this.program.end("SIGTERM");
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Records a request and forwards it to the backend. */
  private async forward(backend: string, incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = Buffer.concat(await incoming.toArray());
    if (incoming.method === "POST") this.requests.push(readMessages(body.toString()));
    const on = request(backend + incoming.url!, { method: incoming.method!, headers: incoming.headers }, (from) => {
      answer.writeHead(from.statusCode!, from.headers);
      from.pipe(answer);
    });
    on.on("error", () => answer.destroy()); // the hub sees the end of its connection
    on.end(body);
  }
}

function readMessages(body: string): ModelMessage[] {
  const { messages } = JSON.parse(body) as { messages: { role: string; content: string | Block[] }[] };
  return messages.map(({ role, content }) => ({ role, blocks: blocksOf(content).map(describeBlock) }));
}

function blocksOf(content: string | Block[]): Block[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function describeBlock(b: Block): string {
  switch (b.type) {
    case "text":
      return b.text!;
    case "tool_use":
      return `calls ${b.name} ${JSON.stringify(b.input)}`;
    case "tool_result":
      return `result ${blocksOf(b.content ?? []).map(describeBlock).join(" ")}`;
  }
  return JSON.stringify(b);
}
