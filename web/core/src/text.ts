// Texts as the Go side counts and orders them: by the bytes of UTF-8.

/** The order of two texts by their bytes, which is that of their characters, not of their UTF-16 units. */
export function compareText(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  for (let i = 0; i < most; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    const high = isSurrogate(x);
    // A character of two units comes after all that have one.
    return high === isSurrogate(y) ? x - y : high ? 1 : -1;
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xe000;
}

/** How many bytes a text has in UTF-8. */
export function utf8Length(text: string): number {
  let n = text.length;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x80) continue;
    n += c < 0x800 || isSurrogate(c) ? 1 : 2; // a pair has four bytes
  }
  return n;
}

/** The longest beginning of a text that has at most so many bytes and splits no character. */
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

/** A place in a text, in UTF-16 units, that lies neither behind it nor within a character. */
export function wholeUnits(text: string, units: number): number {
  if (units >= text.length) return text.length;
  const within = units > 0 && (text.charCodeAt(units) & 0xfc00) === 0xdc00 && (text.charCodeAt(units - 1) & 0xfc00) === 0xd800;
  return within ? units - 1 : units;
}
