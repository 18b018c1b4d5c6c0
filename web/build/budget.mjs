// What a visit may cost. Numbers are bytes; what the first page loads counts as it is sent to a browser without brotli.
import { readFile } from "node:fs/promises";
import { posix } from "node:path";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { formOf } from "./compress.mjs";
import { filesIn } from "./files.mjs";

const kilo = 1000;
const most = 5 * kilo * kilo;

/** What the first visit of a page may cost, and where the hub serves the page. */
const pages = {
  desktop: { base: "/", script: 150 * kilo, style: 25 * kilo },
  admin: { base: "/admin/", script: 120 * kilo, style: 25 * kilo },
};

/** What index.html loads at once: the entry, what it is linked to, and what these import without being asked to. */
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

async function packed(folder, names) {
  let sum = 0;
  for (const name of names) {
    const data = await readFile(`${folder}/${name}`);
    sum += (await promisify(gzip)(data, { level: constants.Z_BEST_COMPRESSION })).length;
  }
  return sum;
}

/** Says what is spent, and returns what is too much. */
export async function overspent(folder) {
  const too = [];
  const spend = (what, spent, budget) => {
    const line = `${what}: ${(spent / kilo).toFixed(1)} kB of ${budget / kilo} kB`;
    console.log(`  ${line}`);
    if (spent > budget) too.push(`over budget: ${line}`);
  };
  for (const [name, { base, script, style }] of Object.entries(pages)) {
    const page = `${folder}/${name}`;
    const first = await firstLoad(page, base);
    if (!first.some((file) => file.endsWith(".js"))) too.push(`${page}/index.html loads no script`);
    spend(`${name} script`, await packed(page, first.filter((file) => file.endsWith(".js"))), script);
    const later = (await filesIn(page)).filter((file) => file.endsWith(".js") && !first.includes(file));
    const sizes = await Promise.all(later.map(async (file) => [posix.basename(file), await packed(page, [file])]));
    const [largest, size] = sizes.reduce((a, b) => (b[1] > a[1] ? b : a), ["none", 0]);
    console.log(`  ${name} scripts that come later: ${later.length}, the largest ${largest} with ${(size / kilo).toFixed(1)} kB`);
    spend(`${name} style`, await packed(page, first.filter((file) => file.endsWith(".css"))), style);
  }
  let all = 0;
  for (const name of await filesIn(folder)) if (!formOf(name)) all += (await readFile(`${folder}/${name}`)).length;
  spend("all", all, most);
  return too;
}
