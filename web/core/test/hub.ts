// A real hub for tests, in its own folder, with the demo provider.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../..", import.meta.url));

export interface Hub {
  url: string;
  stop: () => Promise<void>;
}

export async function startHub(): Promise<Hub> {
  const folder = await mkdtemp(join(tmpdir(), "everdesk-web-"));
  const built = process.env.HUB ?? "";
  const binary = built === "" ? await build(join(folder, "hub")) : built;
  const args = ["serve", "--addr", "127.0.0.1:0", "--auth", "none", "--provider", "demo", "--store", `file:${join(folder, "data")}`];
  const child = spawn(binary, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise<void>((done) => child.once("exit", () => done()));
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    return { url: await address(child), stop };
  } catch (e) {
    await stop();
    throw e;
  }
}

/** Builds the hub, as scripts/test.sh has done for all parts if HUB names its path. */
async function build(binary: string): Promise<string> {
  // With the same settings as the Go tests, so that the build cache is shared.
  const env = { ...process.env, CGO_ENABLED: "0" };
  await promisify(execFile)("go", ["build", "-o", binary, "./cmd/hub"], { cwd: root, env });
  return binary;
}

/** The address that a hub prints when it is ready. */
function address(child: ChildProcess): Promise<string> {
  return new Promise((found, failed) => {
    let output = "";
    const read = (text: Buffer): void => {
      output += text.toString();
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
      if (url !== undefined) found(url);
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("exit", (code) => failed(new Error(`the hub ended with ${code}: ${output}`)));
  });
}
