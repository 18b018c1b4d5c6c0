// Moving through things that lie anywhere, with the arrow keys. Pure.

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const directions: Readonly<Record<string, readonly [number, number]>> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The index of the nearest box in the direction of an arrow key; undefined for other keys and if there is none. */
export function nearestInDirection(key: string, boxes: readonly Box[], at: number): number | undefined {
  if (key === "Home") return boxes.length > 0 ? 0 : undefined;
  if (key === "End") return boxes.length > 0 ? boxes.length - 1 : undefined;
  const direction = directions[key];
  const from = boxes[at];
  if (direction === undefined) return undefined;
  if (from === undefined) return boxes.length > 0 ? 0 : undefined;
  const [dx, dy] = direction;
  let best: number | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const [i, box] of boxes.entries()) {
    const x = box.left + box.width / 2 - (from.left + from.width / 2);
    const y = box.top + box.height / 2 - (from.top + from.height / 2);
    const along = x * dx + y * dy;
    if (i === at || along <= 1) continue;
    // What is to the side counts more than what is far away.
    const distance = along + 3 * Math.abs(x * dy + y * dx);
    if (distance < least) [best, least] = [i, distance];
  }
  return best;
}
