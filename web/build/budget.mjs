// The size budgets of the pages, in bytes. The files of the first load count with gzip, as sent to a browser without
// brotli.
import { readFile } from "node:fs/promises";
import { posix } from "node:path";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { encodingOf } from "./compress.mjs";
import { filesIn } from "./files.mjs";

const kilo = 1000;
// pdf.js and the editor are 3 MB of this. They load with the first PDF file and the first text that is edited.
// The fonts are 1.8 MB: a browser fetches 60 kB of them for English, 400 kB for Korean, and the rest for rare syllables.
const maxTotal = 10.8 * kilo * kilo;

/**
 * The budget of the first load of each page, the path at which the hub serves it, and the most files with scripts: the page
 * fetches nearly all of them soon after its start.
 */
const pages = {
  desktop: { base: "/", script: 150 * kilo, style: 25 * kilo, files: 15 },
  admin: { base: "/admin/", script: 120 * kilo, style: 25 * kilo, files: 5 },
};

/** The files that index.html loads at once: its scripts and styles, and their static imports. */
async function firstLoad(folder, base) {
  const html = await readFile(`${folder}/index.html`, "utf8");
  const links = html.matchAll(/<(?:script|link)\b[^>]*?\s(?:src|href)="([^"]+\.(?:js|css))"/g);
  const found = new Set([...links].map((m) => m[1]).filter((path) => path.startsWith(base)).map((path) => path.slice(base.length)));
  for (const name of found) {
    if (!name.endsWith(".js")) continue;
    const code = await readFile(`${folder}/${name}`, "utf8");
    for (const [, path] of code.matchAll(/\b(?:import|from)\s*["'](\.{1,2}\/[^"']+)["']/g)) found.add(posix.join(posix.dirname(name), path));
  }
  return [...found];
}

async function gzipSize(folder, names) {
  let sum = 0;
  for (const name of names) {
    const data = await readFile(`${folder}/${name}`);
    sum += (await promisify(gzip)(data, { level: constants.Z_BEST_COMPRESSION })).length;
  }
  return sum;
}

/** Prints the sizes; returns the exceeded budgets. */
export async function overBudget(folder) {
  const problems = [];
  const check = (what, size, budget) => {
    const line = `${what}: ${(size / kilo).toFixed(1)} kB of ${budget / kilo} kB`;
    console.log(`  ${line}`);
    if (size > budget) problems.push(`over budget: ${line}`);
  };
  for (const [name, { base, script, style, files }] of Object.entries(pages)) {
    const page = `${folder}/${name}`;
    const first = await firstLoad(page, base);
    if (!first.some((file) => file.endsWith(".js"))) problems.push(`${page}/index.html loads no script`);
    check(`${name} script`, await gzipSize(page, first.filter((file) => file.endsWith(".js"))), script);
    const later = (await filesIn(page)).filter((file) => file.endsWith(".js") && !first.includes(file));
    const sizes = await Promise.all(later.map(async (file) => [posix.basename(file), await gzipSize(page, [file])]));
    const [largest, size] = sizes.reduce((a, b) => (b[1] > a[1] ? b : a), ["none", 0]);
    console.log(`  ${name} scripts loaded later: ${later.length}, the largest ${largest} with ${(size / kilo).toFixed(1)} kB`);
    const count = (await filesIn(page)).filter((file) => file.endsWith(".js")).length;
    if (count > files) problems.push(`${name} has ${count} files with scripts, want at most ${files}: see codeSplitting in its Vite configuration`);
    check(`${name} style`, await gzipSize(page, first.filter((file) => file.endsWith(".css"))), style);
  }
  let all = 0;
  for (const name of await filesIn(folder)) if (!encodingOf(name)) all += (await readFile(`${folder}/${name}`)).length;
  check("all", all, maxTotal);
  return problems;
}
