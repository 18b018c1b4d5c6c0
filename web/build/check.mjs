// check.mjs   builds once more and compares with dist, and looks at what a visit costs. Compressed forms are looked
// at for what is in them: compressors differ from one Node to the next.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { overspent } from "./budget.mjs";
import { buildPlain } from "./build.mjs";
import { forms, packedForm, worthIt } from "./compress.mjs";
import { filesIn } from "./files.mjs";

const dist = fileURLToPath(new URL("../dist", import.meta.url));

/** What differs between our folder, which has compressed forms, and a fresh one, which has none. */
async function differences(ours, fresh) {
  const [there, wanted] = [new Set(await filesIn(ours)), await filesIn(fresh)];
  const known = new Set(wanted.flatMap((name) => [name, ...Object.keys(forms).map((suffix) => name + suffix)]));
  const wrong = [...there].filter((name) => !known.has(name)).map((name) => `${name} is not made any more`);
  for (const name of wanted) {
    const data = await readFile(join(fresh, name));
    if (!there.has(name)) wrong.push(`${name} is missing`);
    else if (!(await readFile(join(ours, name))).equals(data)) wrong.push(`${name} is old`);
    for (const suffix of Object.keys(forms)) {
      const form = name + suffix;
      if (there.has(form)) wrong.push(...(await formTroubles(ours, form, suffix, data)));
      else if (await packedForm(data, suffix)) wrong.push(`${form} is missing`);
    }
  }
  return wrong;
}

/** What is wrong with a compressed form of data. That it is as small as can be is not looked at, which would take long. */
async function formTroubles(folder, name, suffix, data) {
  const packed = await readFile(join(folder, name));
  const unpacked = await forms[suffix].unpack(packed).catch(() => undefined);
  if (!unpacked?.equals(data)) return [`${name} is old`];
  return data.length > worthIt && packed.length < data.length ? [] : [`${name} is not made any more`];
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
  await buildPlain(fresh);
  const old = await differences(dist, fresh);
  const wrong = [...old, ...(await unhashed(fresh)), ...(await overspent(fresh))];
  for (const line of wrong) console.error(line);
  if (old.length > 0) console.error("run: make gen");
  process.exitCode = wrong.length > 0 ? 1 : 0;
} finally {
  await rm(fresh, { recursive: true, force: true });
}
