// The moments of a film: marks to jump to, and the times at which it plays.

import { firstMonitor, type HubEvent, type MonitorID } from "../../../core/src/index.js";

/** A moment to jump to. */
export interface Mark {
  /** The moment after the event that it stands for. */
  readonly moment: number;
  readonly time: number;
  readonly kind: "message" | "plan" | "checkpoint" | "restore";
  /** The message, or the request of the plan; empty for checkpoints. */
  readonly text: string;
  readonly monitorId: MonitorID;
  /** The row of a message. */
  readonly ts?: number;
  /** The checkpoint. */
  readonly hash?: string;
}

/** The mark of an event, which is the one before a moment; undefined if it has none. */
export function markOf(e: HubEvent, moment: number): Mark | undefined {
  const at = { moment, time: e.time };
  switch (e.type) {
    case "messageUpdated": {
      const { action, message: row } = e.data;
      if (action !== "created" || row.say !== "user_feedback") return undefined;
      return { ...at, kind: "message", text: row.text ?? "", monitorId: row.monitorId || e.data.monitorId || firstMonitor, ts: row.ts };
    }
    case "plan_generated":
      return { ...at, kind: "plan", text: e.data.request ?? "", monitorId: firstMonitor };
    case "CHECKPOINT_SAVED":
      return { ...at, kind: "checkpoint", text: "", monitorId: e.data.monitorId || firstMonitor, hash: e.data.hash };
    case "CHECKPOINT_RESTORED":
      if ((e.data.error ?? "") !== "") return undefined;
      return { ...at, kind: "restore", text: "", monitorId: e.data.monitorId || firstMonitor, hash: e.data.hash };
    default:
      return undefined;
  }
}

/** The mark whose saved state has the files of a moment: the last one that was saved or restored before it. */
export function filesAt(marks: readonly Mark[], moment: number): Mark | undefined {
  return marks.findLast((m) => m.moment <= moment && (m.kind === "checkpoint" || m.kind === "restore"));
}

/** The longest pause between two events while a film plays, in ms. Longer ones are cut short: nothing happens in them. */
export const longestPause = 1500;

/** The time of each moment of a growing film from its beginning, in ms, with pauses cut short. */
export class PlayTimes {
  /** By moment. */
  private readonly times = [0];
  private readonly events: readonly HubEvent[];

  constructor(events: readonly HubEvent[]) {
    this.events = events;
  }

  /** The time of a moment; that of the last one for moments after it. */
  of(moment: number): number {
    this.grow();
    return this.times[Math.max(0, Math.min(moment, this.times.length - 1))]!;
  }

  /** The last moment that is not after a time. */
  momentAt(time: number): number {
    this.grow();
    let low = 0;
    let high = this.times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.times[middle]! <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private grow(): void {
    for (let i = this.times.length - 1; i < this.events.length; i++) {
      const pause = i === 0 ? 0 : this.events[i]!.time - this.events[i - 1]!.time;
      this.times.push(this.times[i]! + Math.min(Math.max(0, pause), longestPause));
    }
  }
}

/** The clock of a film that plays. It goes on while the film grows. */
export class Playhead {
  private time: number;
  private at: number | undefined;
  private shown: number;
  private readonly times: PlayTimes;

  constructor(times: PlayTimes, shown: number) {
    this.times = times;
    this.shown = shown;
    this.time = times.of(shown);
  }

  /** The moment to show at a time of the screen. `moment` is the one that is shown, which the user may have moved meanwhile. */
  next(now: number, speed: number, moment: number): number {
    if (moment !== this.shown) this.time = this.times.of(moment);
    this.time += (now - (this.at ?? now)) * speed;
    this.at = now;
    this.shown = this.times.momentAt(this.time);
    return this.shown;
  }
}

/** The nearest mark before or after a moment; undefined if there is none. */
export function neighbour(marks: readonly Mark[], moment: number, back: boolean): Mark | undefined {
  return back ? marks.findLast((m) => m.moment < moment) : marks.find((m) => m.moment > moment);
}

/** What returns the session to a moment: a rewind to before a later message, or the restore of a checkpoint. */
export type Return = { readonly kind: "rewind"; readonly mark: Mark } | { readonly kind: "restore"; readonly mark: Mark };

/**
 * How to return to a moment. A later message that is still in the conversation is rewound; if there is none, the last
 * checkpoint before the moment is restored. `exists` says whether the conversation still has a row.
 */
export function returnTo(marks: readonly Mark[], moment: number, exists: (mark: Mark) => boolean): Return | undefined {
  const later = marks.find((m) => m.moment > moment && m.kind === "message" && exists(m));
  if (later !== undefined) return { kind: "rewind", mark: later };
  const saved = marks.findLast((m) => m.moment <= moment && m.kind === "checkpoint");
  return saved === undefined ? undefined : { kind: "restore", mark: saved };
}
