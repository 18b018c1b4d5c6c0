// The logs that Go wrote, with the expected desktop states.

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

export interface Vector {
  name: string;
  frames: string[];
  /** The hash after some frames, by their index. */
  hashes: Record<string, string>;
  snapshot: string;
}

export function readVectors(): Vector[] {
  const text = gunzipSync(readFileSync(new URL("../testdata/vectors.json.gz", import.meta.url))).toString();
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Vector);
}
