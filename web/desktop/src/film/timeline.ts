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
      return { ...at, kind: "restore", text: "", monitorId: e.data.monitorId || firstMonitor, hash: e.data.hash };
    default:
      return undefined;
  }
}

/** The longest pause between two events while a film plays, in ms. Longer ones are cut short: nothing happens in them. */
export const longestPause = 1500;

/** The time of each moment from the beginning of the film, in ms, with pauses cut short. */
export function playTimes(events: readonly HubEvent[]): Float64Array {
  const times = new Float64Array(events.length + 1);
  for (let i = 1; i < events.length; i++) {
    const pause = events[i]!.time - events[i - 1]!.time;
    times[i + 1] = times[i]! + Math.min(Math.max(0, pause), longestPause);
  }
  return times;
}

/** The last moment that is not after a time. */
export function momentAt(times: Float64Array, time: number): number {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle]! <= time) low = middle;
    else high = middle - 1;
  }
  return low;
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
