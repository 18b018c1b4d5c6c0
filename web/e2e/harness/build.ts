// Builds the hub once for all files, with the committed pages; if HUB is set, it is the path of a hub that is built
// already. With E2E_FRESH the pages are built from source into a temporary folder and embedded from there, for work on
// them.

import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    hubBinary: string;
  }
}

const run = promisify(execFile);
const web = fileURLToPath(new URL("../..", import.meta.url));

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const fresh = (process.env.E2E_FRESH ?? "") !== "";
  const built = process.env.HUB ?? "";
  if (!fresh && built !== "") {
    project.provide("hubBinary", built);
    return async () => undefined;
  }
  const folder = await mkdtemp(join(tmpdir(), "everdesk-e2e-"));
  const binary = join(folder, "hub");
  const overlay = fresh ? ["-overlay", await freshPages(folder)] : [];
  // With the same settings as the Go tests, so that the build cache is shared.
  const env = { ...process.env, CGO_ENABLED: "0" };
  await run("go", ["build", ...overlay, "-o", binary, "./cmd/hub"], { cwd: join(web, ".."), env });
  project.provide("hubBinary", binary);
  return () => rm(folder, { recursive: true, force: true });
}

/** Builds the pages; returns the path of a Go overlay that replaces web/dist with them. */
async function freshPages(folder: string): Promise<string> {
  const dist = join(folder, "dist");
  await run("npx", ["vite", "build", "--outDir", join(dist, "desktop"), "--emptyOutDir"], { cwd: web });
  await run("npx", ["vite", "build", "--config", "vite.admin.config.ts", "--outDir", join(dist, "admin"), "--emptyOutDir"], { cwd: web });
  await run("npx", ["vite", "build", "--config", "vite.apps.config.ts", "--outDir", join(dist, "apps"), "--emptyOutDir"], { cwd: web });
  const committed = join(web, "dist");
  const replace = Object.fromEntries([
    ...(await filesIn(committed)).map((f) => [f, ""]),
    ...(await filesIn(dist)).map((f) => [join(committed, relative(dist, f)), f]),
  ]) as Record<string, string>;
  const list = join(folder, "overlay.json");
  await writeFile(list, JSON.stringify({ Replace: replace }));
  return list;
}

async function filesIn(folder: string): Promise<string[]> {
  const all = await readdir(folder, { recursive: true, withFileTypes: true });
  return all.filter((f) => f.isFile()).map((f) => join(f.parentPath, f.name));
}
