// Programs that tests start. They report in their output when they are ready, and end with the test.

import { type ChildProcess, spawn } from "node:child_process";
import { waitLimit } from "./limits.js";

export class Program {
  readonly child: ChildProcess;
  private output = "";
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
        this.output = (this.output + piece.toString()).slice(-100_000);
        for (const check of this.waiting) check();
      });
    }
    running.add(this);
    void this.ended.then(() => running.delete(this));
  }

  /** Waits until the output matches a pattern. */
  async waitForOutput(pattern: RegExp, ms = waitLimit): Promise<RegExpExecArray> {
    return new Promise((found, failed) => {
      const end = (): void => {
        clearTimeout(timer);
        this.waiting.delete(check);
      };
      const check = (): void => {
        const match = pattern.exec(this.output);
        if (match === null) return;
        end();
        found(match);
      };
      const fail = (why: string): void => {
        end();
        failed(new Error(`${this.child.spawnfile} ${why}: ${this.output}`));
      };
      const timer = setTimeout(() => fail("did not come up"), ms);
      this.waiting.add(check);
      void this.ended.then(() => fail("ended"));
      check();
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

// A stopped test run leaves no processes behind.
process.once("exit", () => {
  for (const p of running) p.child.kill("SIGKILL");
});
