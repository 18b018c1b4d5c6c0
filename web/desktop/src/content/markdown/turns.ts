// Shares the time of the page. Formatting many blocks may take longer than a person should wait for the page, so it is done
// in turns: when one has taken long enough, what is left waits for the next, and the page can draw and answer in between.

/** How long a turn may take, in ms. */
const turnTime = 40;

export interface Clock {
  now(): number;
  /** Calls back when the page has drawn and answered what was waiting. */
  later(then: () => void): void;
}

export class Turns {
  private spent = 0;
  private pending = false;
  private readonly waiting = new Set<() => void>();

  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Does something at once if there is still time in this turn. */
  now<T>(work: () => T): T | undefined {
    if (this.spent >= turnTime) return undefined;
    this.plan();
    return this.timed(work);
  }

  /** Does something in a later turn, unless it is called off. */
  wait(work: () => void): () => void {
    this.waiting.add(work);
    this.plan();
    return () => this.waiting.delete(work);
  }

  private timed<T>(work: () => T): T {
    const began = this.clock.now();
    try {
      return work();
    } finally {
      this.spent += this.clock.now() - began;
    }
  }

  private plan(): void {
    if (this.pending) return;
    this.pending = true;
    this.clock.later(() => {
      this.pending = false;
      this.spent = 0;
      for (const work of this.waiting) {
        if (this.spent >= turnTime) break;
        this.waiting.delete(work);
        this.timed(work);
      }
      if (this.waiting.size > 0) this.plan();
    });
  }
}

/** A frame is drawn first, and then what a person did is answered. A page that is not seen draws no frames. */
export const pageClock: Clock = {
  now: () => performance.now(),
  later(then) {
    if (document.hidden) setTimeout(then, 100);
    else requestAnimationFrame(() => setTimeout(then));
  },
};
