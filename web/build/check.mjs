// check.mjs   builds once more and compares with dist, and looks at what a visit costs. Compressed forms are compared by
// what is in them: compressors differ from one Node to the next.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { overspent } from "./budget.mjs";
import { build } from "./build.mjs";
import { formOf, forms } from "./compress.mjs";
import { filesIn } from "./files.mjs";

const dist = fileURLToPath(new URL("../dist", import.meta.url));

/** What differs between two folders. */
async function differences(ours, fresh) {
  const [there, wanted] = [await filesIn(ours), await filesIn(fresh)];
  const wrong = [];
  for (const name of new Set([...there, ...wanted])) {
    if (!there.includes(name)) wrong.push(`${name} is missing`);
    else if (!wanted.includes(name)) wrong.push(`${name} is not made any more`);
    else if (!(await content(ours, name)).equals(await content(fresh, name))) wrong.push(`${name} is old`);
  }
  return wrong;
}

async function content(folder, name) {
  const data = await readFile(join(folder, name));
  const suffix = formOf(name);
  return suffix ? forms[suffix].unpack(data) : data;
}

/** The hub tells browsers to keep what is in assets for ever, so names there have to change with the content. */
async function unhashed(folder) {
  const names = await filesIn(folder);
  return names
    .filter((name) => /^[a-z]+\/assets\//.test(name) && !/-[\w-]{8}\.\w+(\.br|\.gz)?$/.test(name))
    .map((name) => `${name} has no hash in its name`);
}

const fresh = await mkdtemp(join(tmpdir(), "everdesk-web-"));
try {
  await build(fresh);
  const old = await differences(dist, fresh);
  const wrong = [...old, ...(await unhashed(fresh)), ...(await overspent(fresh))];
  for (const line of wrong) console.error(line);
  if (old.length > 0) console.error("run: make gen");
  process.exitCode = wrong.length > 0 ? 1 : 0;
} finally {
  await rm(fresh, { recursive: true, force: true });
}
