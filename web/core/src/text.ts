// Sizes and order of texts by their UTF-8 bytes, as in Go.

/** Compares two texts by UTF-8 bytes, which is the order of code points, not of UTF-16 units. */
export function compareText(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  for (let i = 0; i < most; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    const high = isSurrogate(x);
    // Code points of two units sort after all of one unit.
    return high === isSurrogate(y) ? x - y : high ? 1 : -1;
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xe000;
}

/** The size of a text in UTF-8 bytes. */
export function utf8Length(text: string): number {
  let n = text.length;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x80) continue;
    n += c < 0x800 || isSurrogate(c) ? 1 : 2; // a pair has four bytes
  }
  return n;
}

/** The longest prefix of a text within the byte limit that splits no character. */
export function firstBytes(text: string, limit: number): string {
  if (text.length * 3 <= limit) return text;
  let bytes = 0;
  for (let i = 0; i < text.length; ) {
    const c = text.codePointAt(i)!;
    bytes += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (bytes > limit) return text.slice(0, i);
    i += c < 0x10000 ? 1 : 2;
  }
  return text;
}

/** Clamps an offset, in UTF-16 units, to the text and to a character boundary. */
export function wholeUnits(text: string, units: number): number {
  if (units >= text.length) return text.length;
  const within = units > 0 && (text.charCodeAt(units) & 0xfc00) === 0xdc00 && (text.charCodeAt(units - 1) & 0xfc00) === 0xd800;
  return within ? units - 1 : units;
}
