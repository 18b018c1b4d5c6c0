// The layout of the todos of a plan: each in the row below the last of its dependencies, in an order that crosses few
// lines. Pure and fast. Invalid dependencies, such as cycles and unknown ids, are not drawn.

import type { Todo, TodoID } from "../../../core/src/index.js";

export type Linked = Pick<Todo, "id" | "depends_on">;

export interface Place {
  readonly id: TodoID;
  /** The row, from 0, and the position in it. */
  readonly row: number;
  readonly column: number;
  /** The top left corner. */
  readonly x: number;
  readonly y: number;
}

export interface Line {
  readonly from: TodoID;
  readonly to: TodoID;
  /** The `d` attribute of the path. */
  readonly path: string;
}

export interface Layout {
  readonly places: ReadonlyMap<TodoID, Place>;
  readonly lines: readonly Line[];
  readonly width: number;
  readonly height: number;
}

export const box = { width: 188, height: 84 };
const gap = { x: 16, y: 36 };
/** The space below the last row for lines and shadows. */
const margin = 4;

/** A todo, or the point at which a line crosses a row. */
interface Cell {
  readonly todo: TodoID | undefined;
  readonly width: number;
  readonly above: Cell[];
  readonly below: Cell[];
  /** Its centre. */
  x: number;
}

export function layoutOf(todos: readonly Linked[]): Layout {
  const rowOf = rowsOf(todos);
  const rows: Cell[][] = Array.from({ length: Math.max(0, ...rowOf.values()) + (todos.length > 0 ? 1 : 0) }, () => []);
  const cells = new Map<TodoID, Cell>();
  for (const { id } of todos) {
    if (cells.has(id)) continue;
    const cell: Cell = { todo: id, width: box.width, above: [], below: [], x: 0 };
    cells.set(id, cell);
    rows[rowOf.get(id)!]!.push(cell);
  }
  const chains = todos.flatMap((t) => needsOf(t, rowOf).map((from) => chainOf(cells.get(from)!, cells.get(t.id)!, rowOf.get(from)!, rowOf.get(t.id)!, rows)));
  for (const row of rows) row.forEach((c, i) => (c.x = i)); // while sorting, x is the position in the row
  for (let n = 0; n < 4; n++) {
    for (const row of rows) sortBy(row, (c) => c.above);
    for (const row of rows.toReversed()) sortBy(row, (c) => c.below);
  }
  assignCentres(rows);
  return toLayout(rows, chains);
}

/** The row of each todo: one below the last of its dependencies. */
function rowsOf(todos: readonly Linked[]): Map<TodoID, number> {
  const known = new Map(todos.map((t) => [t.id, t]));
  const rows = new Map<TodoID, number>();
  const visiting = new Set<TodoID>();
  const rowOf = (id: TodoID): number => {
    const done = rows.get(id);
    if (done !== undefined) return done;
    if (visiting.has(id)) return -1; // breaks a cycle
    visiting.add(id);
    const row = Math.max(-1, ...known.get(id)!.depends_on.filter((d) => known.has(d)).map(rowOf)) + 1;
    visiting.delete(id);
    rows.set(id, row);
    return row;
  };
  for (const { id } of todos) rowOf(id);
  return rows;
}

/** The dependencies of a todo that can be drawn. */
function needsOf(t: Linked, rowOf: ReadonlyMap<TodoID, number>): TodoID[] {
  return [...new Set(t.depends_on)].filter((d) => (rowOf.get(d) ?? Infinity) < rowOf.get(t.id)!);
}

/** Links two todos. A line that crosses rows has a cell in each of them, so that it does not run through a box. */
function chainOf(from: Cell, to: Cell, first: number, last: number, rows: Cell[][]): Cell[] {
  const chain = [from];
  for (let row = first + 1; row < last; row++) {
    const cell: Cell = { todo: undefined, width: 12, above: [], below: [], x: 0 };
    rows[row]!.push(cell);
    chain.push(cell);
  }
  chain.push(to);
  for (let i = 1; i < chain.length; i++) {
    chain[i - 1]!.below.push(chain[i]!);
    chain[i]!.above.push(chain[i - 1]!);
  }
  return chain;
}

function sortBy(row: Cell[], linked: (c: Cell) => readonly Cell[]): void {
  const wanted = new Map(row.map((c, i) => [c, linked(c).length === 0 ? i : mean(linked(c))]));
  row.sort((a, b) => wanted.get(a)! - wanted.get(b)!);
  row.forEach((c, i) => (c.x = i));
}

function mean(cells: readonly Cell[]): number {
  return cells.reduce((sum, c) => sum + c.x, 0) / cells.length;
}

/** Assigns the centre of every cell: as near to its linked cells as its neighbours allow. */
function assignCentres(rows: readonly Cell[][]): void {
  for (const row of rows) {
    let x = 0;
    for (const c of row) {
      c.x = x + c.width / 2;
      x += c.width + gap.x;
    }
    for (const c of row) c.x -= (x - gap.x) / 2;
  }
  for (let n = 0; n < 8; n++) {
    for (const row of rows) relaxRow(row, (c) => c.above);
    for (const row of rows.toReversed()) relaxRow(row, (c) => c.below);
  }
}

/** Pushing from the left and pushing from the right both keep the distances, and so does their average. */
function relaxRow(row: readonly Cell[], linked: (c: Cell) => readonly Cell[]): void {
  const wanted = row.map((c) => (linked(c).length === 0 ? c.x : mean(linked(c))));
  const apart = (i: number): number => (row[i - 1]!.width + row[i]!.width) / 2 + gap.x;
  const right = [...wanted];
  for (let i = 1; i < row.length; i++) right[i] = Math.max(right[i]!, right[i - 1]! + apart(i));
  const left = [...wanted];
  for (let i = row.length - 1; i > 0; i--) left[i - 1] = Math.min(left[i - 1]!, left[i]! - apart(i));
  row.forEach((c, i) => (c.x = (right[i]! + left[i]!) / 2));
}

function toLayout(rows: readonly Cell[][], chains: readonly Cell[][]): Layout {
  const all = rows.flat();
  const left = Math.min(...all.map((c) => c.x - c.width / 2));
  for (const c of all) c.x = Math.round(c.x - left);
  const rowOf = new Map(rows.flatMap((row, i) => row.map((c) => [c, i] as const)));
  const top = (c: Cell): number => rowOf.get(c)! * (box.height + gap.y);
  const places = new Map<TodoID, Place>();
  for (const [row, cells] of rows.entries()) {
    for (const [column, c] of cells.filter((cell) => cell.todo !== undefined).entries()) {
      places.set(c.todo!, { id: c.todo!, row, column, x: c.x - c.width / 2, y: top(c) });
    }
  }
  const lines = chains.map((chain) => ({ from: chain[0]!.todo!, to: chain.at(-1)!.todo!, path: pathOf(chain, top) }));
  const width = Math.max(0, ...all.map((c) => c.x + c.width / 2));
  return { places, lines, width, height: rows.length === 0 ? 0 : rows.length * (box.height + gap.y) - gap.y + margin };
}

/** The path from the bottom of a box to the top of another, straight down through the rows between them. */
function pathOf(chain: readonly Cell[], top: (c: Cell) => number): string {
  let d = "";
  for (let i = 1; i < chain.length; i++) {
    const from = chain[i - 1]!;
    const to = chain[i]!;
    const y0 = top(from) + box.height;
    const y1 = top(to);
    const bend = (y1 - y0) / 2;
    d += `${i === 1 ? `M${from.x} ${y0}` : ""}C${from.x} ${y0 + bend} ${to.x} ${y1 - bend} ${to.x} ${y1}`;
    if (to.todo === undefined) d += `V${y1 + box.height}`;
  }
  return d;
}

export type Step = "up" | "down" | "left" | "right" | "first" | "last";

/** The todo that an arrow key leads to; the same one if there is none. */
export function stepFrom({ places }: Pick<Layout, "places">, id: TodoID, step: Step): TodoID {
  const here = places.get(id);
  const all = [...places.values()].sort((a, b) => a.row - b.row || a.column - b.column);
  if (here === undefined) return all[0]?.id ?? id;
  if (step === "first") return all[0]!.id;
  if (step === "last") return all.at(-1)!.id;
  if (step === "left" || step === "right") {
    const by = step === "left" ? -1 : 1;
    return all.find((p) => p.row === here.row && p.column === here.column + by)?.id ?? id;
  }
  const row = here.row + (step === "up" ? -1 : 1);
  const near = all.filter((p) => p.row === row).sort((a, b) => Math.abs(a.x - here.x) - Math.abs(b.x - here.x) || a.x - b.x);
  return near[0]?.id ?? id;
}
