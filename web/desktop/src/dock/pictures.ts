// How much room there is for pictures in a message, and how they are made to fit. The hub takes frames of 64 KiB.

/** A message must stay below that, in bytes, with everything around it. */
export const frameLimit = 60 * 1024;

/** What is left for ids and times that are not known yet. */
const spare = 512;

const utf8 = new TextEncoder();

/** How many bytes a message has when it is sent. */
export function frameSize(content: string, pictures: readonly string[]): number {
  const interactions = pictures.map((imageData) => ({ type: "draw", timestamp: 1_700_000_000_000, imageData }));
  return utf8.encode(JSON.stringify({ type: "USER_MESSAGE", data: { content, monitorId: "monitor-0", interactions } })).length + spare;
}

/** How many bytes there are for so many pictures beside a text. */
export function roomFor(content: string, pictures: number): number {
  return Math.max(0, frameLimit - frameSize(content, Array.from({ length: pictures }, () => "")));
}

/** Divides a room among pictures: none gets more than it wants, and what small ones leave goes to the others. */
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

/** A way to write a picture smaller: the longest side in pixels, and the quality from 0 to 1. */
export interface Step {
  readonly side: number;
  readonly quality: number;
}

/** The ways to try, from the best to the smallest. */
export const steps: readonly Step[] = [1568, 1280, 1024, 832, 672, 544, 432, 336, 256, 192, 128].flatMap((side) => [
  { side, quality: 0.8 },
  { side, quality: 0.6 },
  { side, quality: 0.4 },
]);

/** The best step whose result has at most so many characters, found by halving; undefined when even the smallest has more. */
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

/** The size of a picture whose longest side is at most so long. */
export function scaled(width: number, height: number, side: number): { width: number; height: number } {
  const factor = Math.min(1, side / Math.max(width, height, 1));
  return { width: Math.max(1, Math.round(width * factor)), height: Math.max(1, Math.round(height * factor)) };
}
