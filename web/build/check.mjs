// check.mjs   builds once more, compares the result with dist and checks the size budgets. Compressed files are
// compared by their content, since the output of compressors differs between Node versions.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { overBudget } from "./budget.mjs";
import { buildUncompressed } from "./build.mjs";
import { compressed, encodings, minSize } from "./compress.mjs";
import { filesIn } from "./files.mjs";

const dist = fileURLToPath(new URL("../dist", import.meta.url));

/** The differences between our folder, which has compressed files, and a fresh one, which has none. */
async function differences(ours, fresh) {
  const [present, expected] = [new Set(await filesIn(ours)), await filesIn(fresh)];
  const known = new Set(expected.flatMap((name) => [name, ...Object.keys(encodings).map((suffix) => name + suffix)]));
  const problems = [...present].filter((name) => !known.has(name)).map((name) => `${name} is not part of the build`);
  for (const name of expected) {
    const data = await readFile(join(fresh, name));
    if (!present.has(name)) problems.push(`${name} is missing`);
    else if (!(await readFile(join(ours, name))).equals(data)) problems.push(`${name} is outdated`);
    for (const suffix of Object.keys(encodings)) {
      const file = name + suffix;
      if (present.has(file)) problems.push(...(await checkCompressed(ours, file, suffix, data)));
      else if (await compressed(data, suffix)) problems.push(`${file} is missing`);
    }
  }
  return problems;
}

/**
 * The problems of a compressed file. It does not check that the file is as small as possible, which would take long.
 */
async function checkCompressed(folder, name, suffix, data) {
  const packed = await readFile(join(folder, name));
  const unpacked = await encodings[suffix].unpack(packed).catch(() => undefined);
  if (!unpacked?.equals(data)) return [`${name} is outdated`];
  return data.length > minSize && packed.length < data.length ? [] : [`${name} is not part of the build`];
}

/** The hub serves assets with an unlimited cache lifetime, so their names must change with the content. */
async function unhashed(folder) {
  const names = await filesIn(folder);
  return names
    .filter((name) => /^[a-z]+\/assets\//.test(name) && !/-[\w-]{8}\.\w+(\.br|\.gz)?$/.test(name))
    .map((name) => `${name} has no hash in its name`);
}

const fresh = await mkdtemp(join(tmpdir(), "everdesk-web-"));
try {
  await buildUncompressed(fresh);
  const old = await differences(dist, fresh);
  const problems = [...old, ...(await unhashed(fresh)), ...(await overBudget(fresh))];
  for (const line of problems) console.error(line);
  if (old.length > 0) console.error("run: make gen");
  process.exitCode = problems.length > 0 ? 1 : 0;
} finally {
  await rm(fresh, { recursive: true, force: true });
}
