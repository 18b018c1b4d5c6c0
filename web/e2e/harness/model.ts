// A model that thinks nothing, for a hub that is to believe it talks to a real one. What it is asked is kept.

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

/** A message of a request, with each of its blocks in one line of words. */
export interface Heard {
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
  /** What it was asked, oldest first: the whole conversation each time. */
  readonly heard: Heard[][] = [];
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
    const behind = (await program.says(/ANTHROPIC_BASE_URL=(\S+)/))[1]!;
    const server = createServer((asked, answer) => void model.pass(behind, asked, answer));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const model = new Model(server, program, folder);
    return model;
  }

  /** With these a hub asks it. */
  get flags(): string[] {
    const url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return ["--provider", "anthropic", "--anthropic-key", "none", "--anthropic-url", url];
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await this.program.end("SIGTERM");
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Writes down what is asked, and has it answered. */
  private async pass(behind: string, asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = Buffer.concat(await asked.toArray());
    if (asked.method === "POST") this.heard.push(readMessages(body.toString()));
    const on = request(behind + asked.url!, { method: asked.method!, headers: asked.headers }, (from) => {
      answer.writeHead(from.statusCode!, from.headers);
      from.pipe(answer);
    });
    on.on("error", () => answer.destroy()); // the hub is told by the end of its connection
    on.end(body);
  }
}

function readMessages(body: string): Heard[] {
  const { messages } = JSON.parse(body) as { messages: { role: string; content: string | Block[] }[] };
  return messages.map(({ role, content }) => ({ role, blocks: blocksOf(content).map(inWords) }));
}

function blocksOf(content: string | Block[]): Block[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function inWords(b: Block): string {
  switch (b.type) {
    case "text":
      return b.text!;
    case "tool_use":
      return `calls ${b.name} ${JSON.stringify(b.input)}`;
    case "tool_result":
      return `result ${blocksOf(b.content ?? []).map(inWords).join(" ")}`;
  }
  return JSON.stringify(b);
}
