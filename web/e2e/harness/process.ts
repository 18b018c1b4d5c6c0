// Programs that tests start: each says in its output when it is up, and is gone when the test is over.

import { type ChildProcess, spawn } from "node:child_process";
import { waitLimit } from "./limits.js";

export class Program {
  readonly child: ChildProcess;
  private said = "";
  private readonly ended: Promise<void>;
  private readonly waiting = new Set<() => void>();

  constructor(command: string, args: readonly string[], cwd: string) {
    this.child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    this.ended = new Promise((done) => {
      this.child.once("exit", () => done());
      this.child.once("error", () => done());
    });
    for (const out of [this.child.stdout, this.child.stderr]) {
      out?.on("data", (piece: Buffer) => {
        this.said = (this.said + piece.toString()).slice(-100_000);
        for (const look of this.waiting) look();
      });
    }
    running.add(this);
    void this.ended.then(() => running.delete(this));
  }

  /** Waits until the output matches. */
  async says(pattern: RegExp, ms = waitLimit): Promise<RegExpExecArray> {
    return new Promise((found, failed) => {
      const end = (): void => {
        clearTimeout(timer);
        this.waiting.delete(look);
      };
      const look = (): void => {
        const match = pattern.exec(this.said);
        if (match === null) return;
        end();
        found(match);
      };
      const fail = (why: string): void => {
        end();
        failed(new Error(`${this.child.spawnfile} ${why}: ${this.said}`));
      };
      const timer = setTimeout(() => fail("did not come up"), ms);
      this.waiting.add(look);
      void this.ended.then(() => fail("ended"));
      look();
    });
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    this.child.kill(signal);
    const late = setTimeout(() => this.child.kill("SIGKILL"), waitLimit);
    await this.ended;
    clearTimeout(late);
  }
}

const running = new Set<Program>();

// A test run that is stopped leaves nothing behind.
process.once("exit", () => {
  for (const p of running) p.child.kill("SIGKILL");
});
