/** A horizontal bar of dark modules in one row of a QR code. */
export interface Bar {
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

/** The dark modules of a QR code, adjacent ones joined. */
export function barsOf(rows: readonly (readonly boolean[])[]): Bar[] {
  const bars: Bar[] = [];
  rows.forEach((row, y) => {
    let from = -1;
    for (let x = 0; x <= row.length; x++) {
      if (row[x] === true && from < 0) from = x;
      if (row[x] !== true && from >= 0) {
        bars.push({ x: from, y, width: x - from });
        from = -1;
      }
    }
  });
  return bars;
}
