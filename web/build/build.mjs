// build.mjs [FOLDER]   builds the desktop, the admin page and the apps into FOLDER (dist), with compressed files beside
// the others.
import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { createBuilder } from "vite";
import { compressAll } from "./compress.mjs";

const web = fileURLToPath(new URL("..", import.meta.url));

/** The parts: the configuration and the output folder of each. */
const parts = [
  { config: "vite.config.ts", folder: "desktop" },
  { config: "vite.admin.config.ts", folder: "admin" },
  { config: "vite.apps.config.ts", folder: "apps" },
];

/** Builds all parts, without compressed files. */
export async function buildUncompressed(folder) {
  process.chdir(web);
  for (const part of parts) {
    const outDir = join(folder, part.folder);
    await rm(outDir, { recursive: true, force: true });
    const builder = await createBuilder({ configFile: part.config, logLevel: "warn", build: { outDir } });
    await builder.buildApp();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = resolve(process.argv[2] ?? join(web, "dist"));
  await buildUncompressed(folder);
  await compressAll(folder);
}
