// What the user did to windows in this tab, so that it can be undone, and the windows that were closed.

import type { WindowState } from "../../../core/src/index.js";
import type { Place } from "./pending-placement.js";
import { keyOf } from "./stack.js";

/** One step that can be undone: windows that were placed, or closed. */
export type Step = { readonly placed: ReadonlyMap<string, Place> } | { readonly closed: readonly WindowState[] };

const maxSteps = 50;
const maxClosed = 20;
/** Placements of the same windows within this time are one step, in ms: a key that is held down moves a window often. */
const sameStep = 800;

export class WindowHistory {
  private readonly steps: Step[] = [];
  private gone: WindowState[] = [];
  private lastPlaced = 0;

  /** The windows that were closed by anyone, the last one at the end. */
  get closed(): readonly WindowState[] {
    return this.gone;
  }

  get isEmpty(): boolean {
    return this.steps.length === 0;
  }

  /** Records where windows were before the user placed them. A drag is a step of its own. */
  addPlaced(placed: ReadonlyMap<string, Place>, now: number, drag = false): void {
    const last = this.steps.at(-1);
    const again = !drag && last !== undefined && "placed" in last && now - this.lastPlaced < sameStep && placed.size === last.placed.size && [...placed.keys()].every((key) => last.placed.has(key));
    this.lastPlaced = drag ? 0 : now;
    if (!again) this.add({ placed });
  }

  addClosed(closed: readonly WindowState[]): void {
    if (closed.length > 0) this.add({ closed });
  }

  private add(step: Step): void {
    this.steps.push(step);
    this.steps.splice(0, this.steps.length - maxSteps);
  }

  /** Removes and returns the last step. */
  pop(): Step | undefined {
    return this.steps.pop();
  }

  /** Follows the windows of the session. The windows of a monitor that was removed do not count as closed. */
  follow(windows: ReadonlyMap<string, WindowState>, before: ReadonlyMap<string, WindowState>, monitors: ReadonlyMap<string, unknown>): void {
    if (this.gone.length > 0) this.gone = this.gone.filter((w) => !windows.has(keyOf(w)));
    if (windows.size >= before.size) return;
    for (const [key, w] of before) if (!windows.has(key) && monitors.has(w.monitorId)) this.gone.push(w);
    this.gone.splice(0, this.gone.length - maxClosed);
  }

  /** Removes and returns the window that was closed last on a monitor. */
  popClosed(monitor: string): WindowState | undefined {
    const at = this.gone.findLastIndex((w) => w.monitorId === monitor);
    return at < 0 ? undefined : this.gone.splice(at, 1)[0];
  }
}
