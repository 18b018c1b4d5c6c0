// What time it is for the hub. Deadlines and ages are told by its clock, which is another than the browser's.

import type { HubEvent } from "../../../core/src/index.js";

/** An event is forgotten after one or two of those in which events came, in ms. */
const period = 30_000;

/**
 * Guesses the hub's time: of the events of late, the one that was the quickest is taken as one that came at once. Since
 * time here is measured by a clock that nobody sets, only the hub's clock can jump, and a new owner of the session begins anew.
 */
export class HubClock {
  private readonly steady: () => number;
  private readonly wall: () => number;
  /** How far the steady clock is ahead at most, by the events of this period and of the one before. */
  private ahead = Infinity;
  private before = Infinity;
  private since = 0;

  constructor(steady: () => number, wall: () => number) {
    this.steady = steady;
    this.wall = wall;
  }

  recordTime(event: HubEvent, replayed: boolean): void {
    if (event.type === "OWNER_CHANGED" || event.type === "session_state") this.ahead = this.before = Infinity;
    if (replayed || !(event.time > 0)) return;
    const here = this.steady();
    if (here - this.since >= period) {
      if (this.ahead !== Infinity) this.before = this.ahead;
      this.ahead = Infinity;
      this.since = here;
    }
    this.ahead = Math.min(this.ahead, here - event.time);
  }

  /** The hub's time now; ours before anything was heard. */
  now(): number {
    const ahead = Math.min(this.ahead, this.before);
    return ahead === Infinity ? this.wall() : this.steady() - ahead;
  }

  /** The hub's time at a time of the browser's clock. */
  at(time: number): number {
    return time + this.now() - this.wall();
  }
}

export function browserHubClock(): HubClock {
  return new HubClock(
    () => performance.timeOrigin + performance.now(),
    () => Date.now(),
  );
}
