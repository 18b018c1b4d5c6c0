// Fits pictures into a message. The hub accepts frames of up to 64 KiB, not counting pictures, and makes pictures of
// more than 128 KiB together smaller. The page does that itself: it encodes better, and less is uploaded.

/** The largest frame of a message without its pictures, in bytes. */
const frameLimit = 60 * 1024;

/** The largest sum of the pictures of a message, in characters of their data: URLs. */
export const pictureLimit = 170 * 1024;

/** Bytes reserved for ids and times that are not known yet. */
const spare = 512;

const utf8 = new TextEncoder();

/** The size of the frame of a message without its pictures, in bytes. */
export function frameSize(content: string, pictures: number): number {
  const interactions = Array.from({ length: pictures }, () => ({ type: "draw", timestamp: 1_700_000_000_000, imageData: "" }));
  return utf8.encode(JSON.stringify({ type: "USER_MESSAGE", data: { content, monitorId: "monitor-0", interactions } })).length + spare;
}

/** The characters available for the pictures of a message beside its text. */
export function roomFor(content: string, pictures: number): number {
  return frameSize(content, pictures) > frameLimit ? 0 : pictureLimit;
}

/** Whether a message with these pictures can be sent. */
export function fits(content: string, pictures: readonly string[]): boolean {
  const used = pictures.reduce((sum, url) => sum + url.length, 0);
  return frameSize(content, pictures.length) <= frameLimit && used <= pictureLimit;
}

/** Divides bytes among pictures. No picture gets more than it wants; the rest is divided among the others. */
export function divide(room: number, wanted: readonly number[]): number[] {
  const shares = wanted.map(() => 0);
  let left = room;
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a]! - wanted[b]!);
  order.forEach((i, done) => {
    shares[i] = Math.min(wanted[i]!, Math.floor(left / (order.length - done)));
    left -= shares[i];
  });
  return shares;
}

/** An encoding of a picture: the longest side in pixels and the quality from 0 to 1. */
export interface Step {
  readonly side: number;
  readonly quality: number;
}

/** The encodings to try, from best to smallest. */
export const steps: readonly Step[] = [1568, 1280, 1024, 832, 672, 544, 432, 336, 256, 192, 128].flatMap((side) => [
  { side, quality: 0.8 },
  { side, quality: 0.6 },
  { side, quality: 0.4 },
]);

/** The best encoding of at most `most` characters, found by bisection; undefined if even the smallest is longer. */
export async function bestStep(most: number, write: (step: Step) => Promise<string>): Promise<{ url: string; step: Step } | undefined> {
  let best: { url: string; step: Step } | undefined;
  let from = 0;
  let to = steps.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    const step = steps[middle]!;
    const url = await write(step);
    if (url.length <= most) {
      best = { url, step };
      to = middle;
    } else {
      from = middle + 1;
    }
  }
  return best;
}

/** The size of a picture scaled to a longest side. */
export function scaled(width: number, height: number, side: number): { width: number; height: number } {
  const factor = Math.min(1, side / Math.max(width, height, 1));
  return { width: Math.max(1, Math.round(width * factor)), height: Math.max(1, Math.round(height * factor)) };
}
