// Estimates the hub's clock. Deadlines and ages use it, and it may differ from the browser's.

import type { HubEvent } from "../../../core/src/index.js";

/** The sampling period, in ms. A sample expires after one or two periods with events. */
const period = 30_000;

/**
 * Estimates the hub's time: the recent event with the smallest delay counts as delivered instantly. The local clock is
 * monotonic, so only the hub's clock can jump; a new owner of the session restarts the estimate.
 */
export class HubClock {
  private readonly steady: () => number;
  private readonly wall: () => number;
  /** The smallest lead of the monotonic clock, from the events of this period and of the previous one. */
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

  /** The hub's current time; the browser's before the first event. */
  now(): number {
    const ahead = Math.min(this.ahead, this.before);
    return ahead === Infinity ? this.wall() : this.steady() - ahead;
  }

  /** Converts a time of the browser's clock to the hub's. */
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
