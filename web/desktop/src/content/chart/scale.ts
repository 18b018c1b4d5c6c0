// Axes: round numbers for ticks, and positions of values. Pure.

export interface Axis {
  readonly low: number;
  readonly high: number;
  readonly ticks: readonly number[];
  /** The distance between ticks. */
  readonly step: number;
}

/** An axis that contains all values, with about `count` ticks at round numbers. */
export function axisOf(values: readonly number[], count: number, withZero: boolean): Axis {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const v of values) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  if (low > high) [low, high] = [0, 1];
  if (withZero || (low > 0 && low < high / 2) || (high < 0 && high > low / 2)) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  if (low === high) [low, high] = low === 0 ? [0, 1] : [Math.min(low, 0, 2 * low), Math.max(high, 0)];
  const step = roundStep((high - low) / Math.max(1, count));
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  const ticks = Array.from({ length: Math.max(1, last - first) + 1 }, (_, i) => clean((first + i) * step, step));
  return { low: ticks[0]!, high: ticks.at(-1)!, ticks, step };
}

/** The next of 1, 2, 2.5, 5 and 10 times a power of ten. */
function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const digit = [1, 2, 2.5, 5, 10].find((d) => d * power >= rough * (1 - 1e-9)) ?? 10;
  return digit * power || 1;
}

/** Removes the error of floating point: 0.30000000000000004 becomes 0.3. */
function clean(v: number, step: number): number {
  const digits = Math.max(0, Math.min(12, 2 - Math.floor(Math.log10(step))));
  return Number(v.toFixed(digits));
}

/** The position of a value on an axis that goes from `from` to `to`. */
export function positionOf(v: number, axis: Axis, from: number, to: number): number {
  return axis.high === axis.low ? from : from + ((v - axis.low) / (axis.high - axis.low)) * (to - from);
}

/** A format for the values of an axis: as many digits as its ticks need, and short for large numbers. */
export function formatOf(language: string, axis: Axis): (v: number) => string {
  const large = Math.max(Math.abs(axis.low), Math.abs(axis.high)) >= 1e6;
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(axis.step) - 1e-9) + (axis.step * 10 ** Math.ceil(-Math.log10(axis.step)) === 2.5 ? 1 : 0)));
  const format = new Intl.NumberFormat(language, large ? { notation: "compact", maximumFractionDigits: 2 } : { maximumFractionDigits: digits });
  return (v) => format.format(v);
}

/** The indexes of labels to draw, so that none covers another: the first, and every n-th. */
export function visibleLabels(widths: readonly number[], room: number): number[] {
  if (widths.length === 0) return [];
  const widest = Math.max(...widths) + 12;
  const every = Math.max(1, Math.ceil((widest * widths.length) / Math.max(room, 1)));
  return widths.map((_, i) => i).filter((i) => i % every === 0);
}

/** The estimated width of a text of 11 px; Korean characters are wide. */
export function textWidth(text: string): number {
  let width = 0;
  for (const c of text) width += c > "\u2e80" ? 11 : c === " " || c === "." || c === "," || c === "i" || c === "l" ? 3.5 : 6.4;
  return width;
}
