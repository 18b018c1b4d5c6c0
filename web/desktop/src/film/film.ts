// The film of a session: the events of its log, with the desktop state after every few of them. The state at any moment is
// folded from the keyframe before it.

import type { HubEvent } from "../../../core/src/event.js";
import { comparePositions, zero } from "../../../core/src/position.js";
import { applyEvent } from "../../../core/src/reduce.js";
import { load } from "../../../core/src/snapshot.js";
import { type DesktopState, emptyDesktop } from "../../../core/src/state.js";
import type { Position, SessionState } from "../../../core/src/wire.gen.js";

/** The number of events between two keyframes. A seek folds fewer events than this. */
export const keyframeDistance = 64;

export class Film {
  readonly events: HubEvent[] = [];
  /** The number of events that seeks have folded, for tests and figures. */
  folded = 0;
  /** keyframes[i] is the state after i * keyframeDistance events. States share what did not change between them. */
  private readonly keyframes: DesktopState[];
  /** The state after all events. */
  private end: DesktopState;
  /** The state of the last seek. Playing continues from it. */
  private last: { moment: number; state: DesktopState };

  /** `start` is the state before the first event; undefined for a log that begins with the session. */
  constructor(start?: SessionState) {
    this.end = start === undefined ? emptyDesktop() : load(start, start.last_message_id ?? zero);
    this.keyframes = [this.end];
    this.last = { moment: 0, state: this.end };
  }

  /** The number of moments is one more than this: moment i is the one after i events. */
  get length(): number {
    return this.events.length;
  }

  /** The position after which the next events are. */
  get endAt(): Position {
    return this.end.at;
  }

  /** Adds events in the order of the log. Events outside the log, and those that are known, are left out. */
  append(events: readonly HubEvent[]): void {
    for (const e of events) {
      if (e.at === zero || comparePositions(e.at, this.end.at) <= 0) continue;
      this.end = applyEvent(this.end, e);
      this.events.push(e);
      if (this.events.length % keyframeDistance === 0) this.keyframes.push(this.end);
    }
  }

  /** The state at a moment. */
  stateAt(moment: number): DesktopState {
    if (moment >= this.length) return this.end;
    const to = Math.max(0, moment);
    const key = Math.floor(to / keyframeDistance);
    let { moment: from, state } = this.last;
    if (from > to || from < key * keyframeDistance) {
      from = key * keyframeDistance;
      state = this.keyframes[key]!;
    }
    for (; from < to; from++, this.folded++) state = applyEvent(state, this.events[from]!);
    this.last = { moment: to, state };
    return state;
  }

  /** The moment after the event at a position; the one before it, if there is no such event. */
  momentOf(at: Position): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (comparePositions(this.events[middle]!.at, at) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
