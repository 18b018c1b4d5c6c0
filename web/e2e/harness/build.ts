// Builds the hub once for all files. With E2E_FRESH the page is built from its sources and shown instead of the one in
// the binary, for work on the page.

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    hubBinary: string;
    /** A built page to serve instead of the embedded one; empty when there is none. */
    desktopDir: string;
  }
}

const run = promisify(execFile);
const web = fileURLToPath(new URL("../..", import.meta.url));

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "everdesk-e2e-"));
  const binary = join(folder, "hub");
  // As the Go tests build it, whose work is then not done again.
  const env = { ...process.env, CGO_ENABLED: "0" };
  await run("go", ["build", "-o", binary, "./cmd/hub"], { cwd: join(web, ".."), env });
  project.provide("hubBinary", binary);
  const fresh = (process.env.E2E_FRESH ?? "") !== "";
  const dist = join(folder, "dist");
  if (fresh) await run("npx", ["vite", "build", "--outDir", dist, "--emptyOutDir"], { cwd: web });
  project.provide("desktopDir", fresh ? dist : "");
  return () => rm(folder, { recursive: true, force: true });
}
