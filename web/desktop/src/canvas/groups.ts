// Snap groups: windows side by side, with a gap of their own between them. A group is derived from the bounds of windows, so it
// is there after a reload and in other tabs, too. This part loads after the first paint.

import { type Bounds, byZ, isStandard, type WindowState } from "../../../core/src/index.js";
import type { Commands } from "../shell/commands.js";
import { type Edge, gap, minSizeOf, rounded } from "./geometry.js";
import type { GroupRules, SharedBorder, WindowManager } from "./manager.js";
import type { Place } from "./pending-placement.js";
import { keyOf } from "./stack.js";

/** A window with the bounds at which it is drawn. */
export interface Tile {
  readonly key: string;
  readonly bounds: Bounds;
  readonly least: { readonly w: number; readonly h: number };
}

/** More windows than these side by side are a tidy desktop, which is no group. */
const maxGroup = 4;
/** Bounds are rounded, so a gap may be wider or narrower by this, in px. */
const tolerance = 1;
/** How long a border is at least that windows share, in px. */
const minShared = 40;

type Axis = "x" | "y";

const sizeAlong = { x: "w", y: "h" } as const;
const across = { x: "y", y: "x" } as const;

function endOf(b: Bounds, axis: Axis): number {
  return b[axis] + b[sizeAlong[axis]];
}

function shared(a: Bounds, b: Bounds, axis: Axis): number {
  return Math.min(endOf(a, axis), endOf(b, axis)) - Math.max(a[axis], b[axis]);
}

/** Whether b begins where a ends, with a gap between them. */
function follows(a: Bounds, b: Bounds, axis: Axis): boolean {
  return Math.abs(b[axis] - endOf(a, axis) - gap) <= tolerance && shared(a, b, across[axis]) >= minShared;
}

function touch(a: Bounds, b: Bounds): boolean {
  return follows(a, b, "x") || follows(b, a, "x") || follows(a, b, "y") || follows(b, a, "y");
}

function overlap(a: Bounds, b: Bounds): boolean {
  return shared(a, b, "x") > 0 && shared(a, b, "y") > 0;
}

/** The group of the first of the tiles, which are in the order from front to back; empty if it has none. */
export function groupOf(tiles: readonly Tile[]): readonly Tile[] {
  const group = tiles.slice(0, 1);
  for (const g of group) {
    for (const t of tiles) {
      // A tile beneath another one of the group is not part of it.
      if (touch(g.bounds, t.bounds) && !group.some((o) => overlap(o.bounds, t.bounds))) group.push(t);
    }
  }
  return group.length < 2 || group.length > maxGroup ? [] : group;
}

/** A border between tiles of a group: those that end at it, and those that begin after it. */
interface Border {
  readonly axis: Axis;
  readonly before: readonly Tile[];
  readonly after: readonly Tile[];
}

/** The border at one side of a tile, with all tiles along it. */
function borderAt(group: readonly Tile[], tile: Tile, axis: Axis, side: "start" | "end"): Border | undefined {
  const before = side === "end" ? [tile] : [];
  const after = side === "start" ? [tile] : [];
  for (let count = 0; count < before.length + after.length; ) {
    count = before.length + after.length;
    for (const t of group) {
      if (!after.includes(t) && before.some((b) => follows(b.bounds, t.bounds, axis))) after.push(t);
      if (!before.includes(t) && after.some((a) => follows(t.bounds, a.bounds, axis))) before.push(t);
    }
  }
  return before.length > 0 && after.length > 0 ? { axis, before, after } : undefined;
}

/** The bounds of the tiles along a border after it was moved by a distance, as far as their least sizes allow. */
function moveBorder({ axis, before, after }: Border, by: number, bounds: Map<string, Bounds>): void {
  const size = sizeAlong[axis];
  const of = (t: Tile): Bounds => bounds.get(t.key) ?? t.bounds;
  const most = Math.max(0, Math.min(...after.map((t) => of(t)[size] - t.least[size])));
  const least = Math.min(0, Math.max(...before.map((t) => t.least[size] - of(t)[size])));
  const d = Math.round(Math.min(Math.max(by, least), most));
  for (const t of before) bounds.set(t.key, { ...of(t), [size]: of(t)[size] + d });
  for (const t of after) bounds.set(t.key, { ...of(t), [axis]: of(t)[axis] + d, [size]: of(t)[size] - d });
}

/** The minimised windows of a monitor, those of one group together. */
export function minimisedGroups(windows: readonly WindowState[]): readonly (readonly WindowState[])[] {
  const left = windows.filter((w) => w.minimized === true);
  const out: WindowState[][] = [];
  for (let w = left[0]; w !== undefined; w = left[0]) {
    const tiles = [w, ...left.filter((o) => o !== w).sort((a, b) => byZ(b, a))].filter((o) => isStandard(o) && o.maximized !== true);
    const keys = new Set(groupOf(tiles[0] === w ? tiles.map((o) => ({ key: keyOf(o), bounds: o.bounds, least: minSizeOf(o) })) : []).map((t) => t.key));
    const group = left.filter((o) => o === w || keys.has(keyOf(o)));
    out.push(group);
    for (const o of group) left.splice(left.indexOf(o), 1);
  }
  return out;
}

/** Brings windows to the front, minimised ones, too; the first of them is above the others. */
export function bringForward(windows: readonly WindowState[], commands: Commands): void {
  for (const w of [...windows].reverse()) commands.focusWindow(w);
}

/** The snap groups of the windows that a window manager shows. */
export class Groups implements GroupRules {
  private readonly manager: WindowManager;

  constructor(manager: WindowManager) {
    this.manager = manager;
  }

  /** The windows of a window's group, that window first; empty if it has none. Only windows that are minimised as it is count. */
  of(w: WindowState): readonly WindowState[] {
    return this.tiles(w).flatMap((t) => this.manager.window(t.key) ?? []);
  }

  private tiles(w: WindowState): readonly Tile[] {
    const fits = (o: WindowState): boolean => o.monitorId === w.monitorId && isStandard(o) && (o.minimized === true) === (w.minimized === true) && !this.manager.place(o).maximized;
    const others = this.manager.windows().filter((o) => o.windowId !== w.windowId && fits(o)).sort((a, b) => byZ(b, a));
    return fits(w) ? groupOf([w, ...others].map((o) => this.tile(o))) : [];
  }

  private tile(w: WindowState): Tile {
    return { key: keyOf(w), bounds: rounded(this.manager.drawnBounds(w)), least: minSizeOf(w) };
  }

  border(w: WindowState, edge: Edge): SharedBorder | undefined {
    const group = this.tiles(w);
    const own = group[0];
    if (own === undefined) return undefined;
    const at = (end: string, start: string, axis: Axis): Border | undefined => (edge.includes(end) ? borderAt(group, own, axis, "end") : edge.includes(start) ? borderAt(group, own, axis, "start") : undefined);
    const x = at("e", "w", "x");
    const y = at("s", "n", "y");
    if (x === undefined && y === undefined) return undefined;
    const along = [x, y].flatMap((b) => (b === undefined ? [] : [...b.before, ...b.after]));
    return {
      others: [...new Set(along.map((t) => t.key))].filter((key) => key !== own.key).flatMap((key) => this.manager.window(key) ?? []),
      move: (to) => {
        const bounds = new Map([[own.key, to]]);
        // Sides that nothing is beside go where they are dragged to; the others as far as their neighbours allow.
        for (const [border, size] of [[x, "w"], [y, "h"]] as const) {
          if (border === undefined) continue;
          const axis = border.axis;
          const by = border.before.includes(own) ? endOf(to, axis) - endOf(own.bounds, axis) : to[axis] - own.bounds[axis];
          bounds.set(own.key, { ...bounds.get(own.key)!, [axis]: own.bounds[axis], [size]: own.bounds[size] });
          moveBorder(border, by, bounds);
        }
        return bounds;
      },
    };
  }

  /** Moves the border that a window shares: its right or lower one, else its left or upper one. */
  nudge(w: WindowState, dx: number, dy: number): boolean {
    const group = this.tiles(w);
    const own = group[0];
    const axis = dx !== 0 ? "x" : "y";
    const border = own && (borderAt(group, own, axis, "end") ?? borderAt(group, own, axis, "start"));
    if (border === undefined) return false;
    const bounds = new Map<string, Bounds>();
    moveBorder(border, dx + dy, bounds);
    this.manager.placeAll(new Map([...bounds].map(([key, b]): [string, Place] => [key, { bounds: b, maximized: false }])));
    return true;
  }
}
