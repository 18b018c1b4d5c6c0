// A real Redis in its own folder. It can hang, and it can be killed and started again with its data.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Program } from "./process.js";

const run = promisify(execFile);

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

  /** Starts Redis, again with its data if it ran before. */
  async up(): Promise<void> {
    // Data that a killed process has written to its file stays; only a power cut would need fsync.
    const persistence = ["--save", "", "--appendonly", "yes", "--appendfsync", "no"];
    this.program = new Program("redis-server", ["--port", `${this.port}`, ...persistence], this.folder);
    await this.program.waitForOutput(/Ready to accept connections/);
  }

  /** Suspends the process: its connections stay open without an answer. */
  freeze(): void {
    this.program?.child.kill("SIGSTOP");
  }

  thaw(): void {
    this.program?.child.kill("SIGCONT");
  }

  /** Makes Redis refuse writes for lack of memory, or allows them again. */
  async setFull(full: boolean): Promise<void> {
    await run("redis-cli", ["-u", this.url, "config", "set", "maxmemory", full ? "1" : "0"]);
  }

  /** Kills the process, as a power cut does. */
  async kill(): Promise<void> {
    await this.program?.end("SIGKILL");
    this.program = undefined;
  }
}
