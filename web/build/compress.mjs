// Compresses files at build time, so that the hub need not do it for every request.
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants, gunzip, gzip } from "node:zlib";
import { filesIn } from "./files.mjs";

/** The size below which the headers cost more than compression saves, in bytes. */
export const minSize = 1024;

/** Compresses and decompresses, by the suffix of the file name. */
export const encodings = {
  ".br": {
    pack: (data) =>
      promisify(brotliCompress)(data, {
        params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: data.length },
      }),
    unpack: promisify(brotliDecompress),
  },
  ".gz": { pack: (data) => promisify(gzip)(data, { level: constants.Z_BEST_COMPRESSION }), unpack: promisify(gunzip) },
};

/** The suffix of a compressed file; undefined for other files. */
export const encodingOf = (name) => Object.keys(encodings).find((suffix) => name.endsWith(suffix));

export async function compressAll(folder) {
  for (const name of await filesIn(folder)) {
    if (encodingOf(name)) continue;
    const data = await readFile(`${folder}/${name}`);
    for (const suffix of Object.keys(encodings)) {
      const packed = await compressed(data, suffix);
      if (packed) await writeFile(`${folder}/${name}${suffix}`, packed);
    }
  }
}

/** The compressed data; undefined if it is too small to matter, not smaller, or a font, which is compressed already. */
export async function compressed(data, suffix) {
  if (data.length <= minSize || data.subarray(0, 4).toString("latin1") === "wOF2") return undefined;
  const packed = await encodings[suffix].pack(data);
  return packed.length < data.length ? packed : undefined;
}
