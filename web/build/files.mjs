import { readdir } from "node:fs/promises";
import { relative, sep } from "node:path";

/** The names of all files below a folder, in order, with slashes between folders. */
export async function filesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, `${entry.parentPath}${sep}${entry.name}`).replaceAll(sep, "/"))
    .sort();
}
