// Encodings of pictures: which one fits into a number of characters. Loaded with the first picture.

/** Divides bytes among pictures. No picture gets more than it needs; the rest is divided among the others. */
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
