// A real Redis in a folder of its own. It can hang, and it can be killed and started again with all that it had.

import { Program } from "./process.js";

export class Redis {
  readonly url: string;
  private readonly folder: string;
  private readonly port: number;
  private program: Program | undefined;

  constructor(folder: string, port: number) {
    this.folder = folder;
    this.port = port;
    this.url = `redis://127.0.0.1:${port}`;
  }

  /** Starts it, with what it had before if it was there. */
  async up(): Promise<void> {
    // What a killed process has written to its file stays; only a power cut would need more.
    const keep = ["--save", "", "--appendonly", "yes", "--appendfsync", "no"];
    this.program = new Program("redis-server", ["--port", `${this.port}`, ...keep], this.folder);
    await this.program.says(/Ready to accept connections/);
  }

  /** Lets it hang: its connections are open and nobody answers. */
  freeze(): void {
    this.program?.child.kill("SIGSTOP");
  }

  thaw(): void {
    this.program?.child.kill("SIGCONT");
  }

  /** Ends it as a power cut does. */
  async kill(): Promise<void> {
    await this.program?.end("SIGKILL");
    this.program = undefined;
  }
}
