// Moving pictures: joins screenshots into an animated PNG. A frame holds only the rectangle that differs from the frame
// before, and equal frames become one that is shown for longer.

import { crc32, deflateSync, inflateSync } from "node:zlib";

export interface Frame {
  readonly png: Buffer;
  /** How long it is shown. */
  readonly ms: number;
}

interface Pixels {
  readonly head: Buffer;
  readonly width: number;
  readonly height: number;
  /** Bytes of a pixel. */
  readonly size: number;
  readonly data: Buffer;
}

interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");

/** An animated PNG that repeats forever. All frames must have the same size. */
export function animate(frames: readonly Frame[]): Buffer {
  const parts: { box: Box; data: Buffer; ms: number }[] = [];
  let before: Pixels | undefined;
  for (const f of frames) {
    const now = decode(f.png);
    if (before !== undefined && !before.head.equals(now.head)) throw new Error("the frames have different formats");
    const box = before === undefined ? { x: 0, y: 0, w: now.width, h: now.height } : changed(before, now);
    if (box === undefined) parts.at(-1)!.ms += f.ms;
    else parts.push({ box, data: encode(now, box), ms: f.ms });
    before = now;
  }
  if (before === undefined) throw new Error("no frames");
  let sequence = 0;
  const chunks = parts.flatMap(({ box, data, ms }, n) => {
    const control = Buffer.alloc(26); // no disposal, no blending
    for (const [i, v] of [sequence++, box.w, box.h, box.x, box.y].entries()) control.writeUInt32BE(v, 4 * i);
    control.writeUInt16BE(Math.min(Math.round(ms), 65_535), 20);
    control.writeUInt16BE(1000, 22);
    return [chunk("fcTL", control), n === 0 ? chunk("IDAT", data) : chunk("fdAT", Buffer.concat([uint32(sequence++), data]))];
  });
  return Buffer.concat([signature, chunk("IHDR", before.head), chunk("acTL", Buffer.concat([uint32(parts.length), uint32(0)])), ...chunks, chunk("IEND", Buffer.alloc(0))]);
}

function uint32(v: number): Buffer {
  const b = Buffer.alloc(4);
  b.writeUInt32BE(v);
  return b;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  return Buffer.concat([uint32(data.length), body, uint32(crc32(body))]);
}

/** Decodes a PNG with 8 bits per channel and without interlacing, which is what browsers write. */
function decode(png: Buffer): Pixels {
  let head: Buffer | undefined;
  const packed: Buffer[] = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + length);
    if (type === "IHDR") head = Buffer.from(data);
    if (type === "IDAT") packed.push(data);
    at += 12 + length;
  }
  const size = ({ 2: 3, 6: 4 } as Record<number, number>)[head?.[9] ?? 0];
  if (head === undefined || size === undefined || head[8] !== 8 || head[12] !== 0) throw new Error("not a screenshot");
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const rows = inflateSync(Buffer.concat(packed));
  const line = width * size;
  const data = Buffer.alloc(line * height);
  for (let y = 0; y < height; y++) {
    const filter = rows[y * (line + 1)]!;
    for (let i = 0; i < line; i++) {
      const left = i < size ? 0 : data[y * line + i - size]!;
      const up = y === 0 ? 0 : data[(y - 1) * line + i]!;
      const corner = y === 0 || i < size ? 0 : data[(y - 1) * line + i - size]!;
      data[y * line + i] = rows[y * (line + 1) + 1 + i]! + predict(filter, left, up, corner);
    }
  }
  return { head, width, height, size, data };
}

/** The prediction of the filters of PNG. */
function predict(filter: number, left: number, up: number, corner: number): number {
  if (filter === 0) return 0;
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

/** The smallest rectangle with all differences; undefined if there are none. */
function changed(a: Pixels, b: Pixels): Box | undefined {
  let [left, right, top, bottom] = [b.width, -1, b.height, -1];
  for (let y = 0; y < b.height; y++) {
    for (let x = 0; x < b.width; x++) {
      const at = (y * b.width + x) * b.size;
      if (a.data.compare(b.data, at, at + b.size, at, at + b.size) === 0) continue;
      [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
    }
  }
  return right < 0 ? undefined : { x: left, y: top, w: right - left + 1, h: bottom - top + 1 };
}

function encode(p: Pixels, box: Box): Buffer {
  const line = box.w * p.size;
  const rows = Buffer.alloc((line + 1) * box.h); // the filter of each line is 0
  for (let y = 0; y < box.h; y++) {
    const from = ((box.y + y) * p.width + box.x) * p.size;
    p.data.copy(rows, y * (line + 1) + 1, from, from + line);
  }
  return deflateSync(rows, { level: 9 });
}
