// What a visit may cost. Numbers are bytes; what the first page loads counts as it is sent to a browser without brotli.
import { readFile } from "node:fs/promises";
import { posix } from "node:path";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { formOf } from "./compress.mjs";
import { filesIn } from "./files.mjs";

const kilo = 1000;
const budgets = { script: 150 * kilo, style: 25 * kilo, all: 5 * kilo * kilo };

/** What index.html loads at once: the entry, what it is linked to, and what these import without being asked to. */
async function firstLoad(desktop) {
  const html = await readFile(`${desktop}/index.html`, "utf8");
  const linked = [...html.matchAll(/<(?:script|link)\b[^>]*?\s(?:src|href)="\/([^"]+\.(?:js|css))"/g)].map((m) => m[1]);
  const found = new Set(linked);
  for (const name of found) {
    if (!name.endsWith(".js")) continue;
    const code = await readFile(`${desktop}/${name}`, "utf8");
    for (const [, path] of code.matchAll(/\b(?:import|from)\s*["'](\.{1,2}\/[^"']+)["']/g)) found.add(posix.join(posix.dirname(name), path));
  }
  return [...found];
}

async function packed(desktop, names) {
  let sum = 0;
  for (const name of names) {
    const data = await readFile(`${desktop}/${name}`);
    sum += (await promisify(gzip)(data, { level: constants.Z_BEST_COMPRESSION })).length;
  }
  return sum;
}

/** Says what is spent, and returns what is too much. */
export async function overspent(folder) {
  const desktop = `${folder}/desktop`;
  const first = await firstLoad(desktop);
  if (!first.some((name) => name.endsWith(".js"))) return [`${desktop}/index.html loads no script`];
  let all = 0;
  for (const name of await filesIn(folder)) if (!formOf(name)) all += (await readFile(`${folder}/${name}`)).length;
  const spent = {
    script: await packed(desktop, first.filter((name) => name.endsWith(".js"))),
    style: await packed(desktop, first.filter((name) => name.endsWith(".css"))),
    all,
  };
  const too = [];
  for (const [what, most] of Object.entries(budgets)) {
    const line = `${what}: ${(spent[what] / kilo).toFixed(1)} kB of ${most / kilo} kB`;
    console.log(`  ${line}`);
    if (spent[what] > most) too.push(`over budget: ${line}`);
  }
  return too;
}
