// Compressed forms of files, made once so that the hub need not do it for every browser.
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants, gunzip, gzip } from "node:zlib";
import { filesIn } from "./files.mjs";

/** Below that the headers weigh more than what is won. */
export const worthIt = 1024;

/** How a form is made and undone, by the end of its name. */
export const forms = {
  ".br": {
    pack: (data) =>
      promisify(brotliCompress)(data, {
        params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: data.length },
      }),
    unpack: promisify(brotliDecompress),
  },
  ".gz": { pack: (data) => promisify(gzip)(data, { level: constants.Z_BEST_COMPRESSION }), unpack: promisify(gunzip) },
};

/** The end of a compressed form's name; undefined for other files. */
export const formOf = (name) => Object.keys(forms).find((suffix) => name.endsWith(suffix));

export async function compressAll(folder) {
  for (const name of await filesIn(folder)) {
    if (formOf(name)) continue;
    const data = await readFile(`${folder}/${name}`);
    for (const suffix of Object.keys(forms)) {
      const packed = await packedForm(data, suffix);
      if (packed) await writeFile(`${folder}/${name}${suffix}`, packed);
    }
  }
}

/** A compressed form of data; undefined if it is not worth it. */
export async function packedForm(data, suffix) {
  if (data.length <= worthIt) return undefined;
  const packed = await forms[suffix].pack(data);
  return packed.length < data.length ? packed : undefined;
}
