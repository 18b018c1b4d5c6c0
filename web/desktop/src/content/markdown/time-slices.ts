// Formats blocks in time slices. Formatting many blocks would block the page for too long; when a slice is used up, the
// remaining work waits for the next, and the page renders and handles events in between.

/** The length of a slice, in ms. */
const sliceTime = 40;

export interface Clock {
  now(): number;
  /** Calls back after the page has rendered and handled waiting events. */
  later(then: () => void): void;
}

export class TimeSlices {
  private spent = 0;
  private pending = false;
  private readonly waiting = new Set<() => void>();

  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Runs work at once if the current slice has time left. */
  runNow<T>(work: () => T): T | undefined {
    if (this.spent >= sliceTime) return undefined;
    this.schedule();
    return this.timed(work);
  }

  /** Queues work for a later slice; returns a function that cancels it. */
  enqueue(work: () => void): () => void {
    this.waiting.add(work);
    this.schedule();
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

  private schedule(): void {
    if (this.pending) return;
    this.pending = true;
    this.clock.later(() => {
      this.pending = false;
      this.spent = 0;
      for (const work of this.waiting) {
        if (this.spent >= sliceTime) break;
        this.waiting.delete(work);
        this.timed(work);
      }
      if (this.waiting.size > 0) this.schedule();
    });
  }
}

/** Waits for a frame and then for waiting events. A hidden page gets no animation frames, so it uses a timer. */
export const pageClock: Clock = {
  now: () => performance.now(),
  later(then) {
    if (document.hidden) setTimeout(then, 100);
    else requestAnimationFrame(() => setTimeout(then));
  },
};
